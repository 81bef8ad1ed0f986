import type { Command } from 'commander'
import type { Terminal } from '../terminal.ts'

/** Every first word of the command line, with the second words of each noun. */
export interface KnownWords {
  readonly first: readonly string[]
  readonly readVerbs: () => Promise<ReadonlyMap<string, readonly string[]>>
}

/** Gives a command that is no noun its arguments, flags and action. */
export type DeclareCommand = (command: Command, terminal: Terminal, words: KnownWords) => void
