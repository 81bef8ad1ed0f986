import type { Command } from 'commander'
import type { Terminal } from '../terminal.ts'

/** Gives a command that is no noun its arguments, flags and action. `readAll` makes the program with every command and flag. */
export type DeclareCommand = (command: Command, terminal: Terminal, readAll: () => Promise<Command>) => void
