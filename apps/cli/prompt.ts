import { CommandError, type Terminal } from './terminal.ts'

/** Questions of a command. The library is loaded only when a person is asked. They go to standard error: output is for programs. */

/** Asks for yes or no. Throws `CommandError` 2 when the person gives up. */
export async function askYes(message: string, terminal: Terminal): Promise<boolean> {
  const { confirm } = await import('@clack/prompts')
  return given(await confirm({ message, initialValue: false, ...streamsOf(terminal) }))
}

/** Asks for one line. Throws `CommandError` 2 when the person gives up. */
export async function askText(message: string, terminal: Terminal): Promise<string> {
  const { text } = await import('@clack/prompts')
  return given(await text({ message, ...streamsOf(terminal) })).trim()
}

/** Asks for a secret, which is not shown. Throws `CommandError` 2 when the person gives up. */
export async function askSecret(message: string, terminal: Terminal): Promise<string> {
  const { password } = await import('@clack/prompts')
  return given(await password({ message, mask: '•', ...streamsOf(terminal) })).trim()
}

function streamsOf({ stdin, stderr }: Terminal) {
  return { input: stdin, output: stderr as unknown as NodeJS.WritableStream & NodeJS.WriteStream }
}

function given<T>(answer: T): Exclude<T, symbol> {
  if (typeof answer === 'symbol') throw new CommandError(2, 'nothing was done')
  return answer as Exclude<T, symbol>
}
