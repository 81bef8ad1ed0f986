import { type Command, exitCodeOf } from '../../app/run.ts'
import type { EndedProcess } from './child.ts'

/** How a command in this process ended. */
export type EndedCommand = EndedProcess & { readonly code: 0 | 1 }

/**
 * Runs a command of main.ts in this process: the start of a process costs more than most commands. A test that kills a
 * command, or that is about what a process loads or inherits, starts one with `runUntilEnd` instead.
 */
export async function runHere(
  command: Command,
  words: readonly string[],
  variables: Readonly<Record<string, string>>,
): Promise<EndedCommand> {
  let output = ''
  let log = ''
  const printer = {
    printLine(line: string) {
      output += `${line}\n`
    },
    printProgress(line: string) {
      log += `${line}\n`
    },
  }
  const code = await exitCodeOf((printed) => command(words, variables, printed), printer)
  return { code, output, log }
}

/** Runs a command of main.ts in this process, and returns the lines that it printed. Throws unless it ends with 0. */
export async function runHereToEnd(
  command: Command,
  words: readonly string[],
  variables: Readonly<Record<string, string>>,
): Promise<readonly string[]> {
  const { code, output, log } = await runHere(command, words, variables)
  if (code !== 0) throw new Error(`the command ${words.join(' ')} ended with ${code}:\n${log}`)
  return output.trimEnd().split('\n')
}
