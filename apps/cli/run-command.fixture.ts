import { PassThrough } from 'node:stream'
import { runCommand } from './program.ts'

/** What a command is run with in a test. */
export interface RunOptions {
  readonly variables: Readonly<Record<string, string>>
  /** The folder of the command. */
  readonly directory?: string
  /** The width of a terminal; without it, output goes to no terminal. */
  readonly columns?: number
  readonly input?: string
  /** Sees what goes to standard output, as it comes. What it throws ends the command. */
  readonly onOut?: (text: string) => void
  /** Sees what goes to standard error, as it comes. */
  readonly onError?: (text: string) => void
}

/** What a command printed, and its exit code. */
export interface RunResult {
  readonly code: number
  readonly out: string
  readonly err: string
}

/** Runs a command in this process. */
export async function runHere(
  words: readonly string[],
  { variables, directory = '/nowhere', columns, input = '', onOut, onError }: RunOptions,
): Promise<RunResult> {
  let [out, err] = ['', '']
  const stdin = new PassThrough()
  stdin.end(input)
  const code = await runCommand(words, {
    variables,
    directory,
    stdin: stdin as unknown as NodeJS.ReadStream,
    stdout: {
      write: (text) => {
        out += text
        onOut?.(text)
      },
      ...(columns !== undefined && { isTTY: true, columns }),
    },
    stderr: {
      write: (text) => {
        err += text
        onError?.(text)
      },
    },
  })
  return { code, out, err }
}
