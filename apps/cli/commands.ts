import type { DeclareCommand } from './commands/command.ts'

/** A command that is not a noun with verbs. Its code is loaded only when it is used. */
interface CommandEntry {
  readonly name: string
  readonly about: string
  readonly load: () => Promise<{ readonly declare: DeclareCommand }>
}

/** Every command besides the nouns. */
export const COMMANDS: readonly CommandEntry[] = [
  {
    name: 'overview',
    about: 'show what waits, and how payments go',
    load: () => import('./commands/overview.ts'),
  },
  {
    name: 'search',
    about: 'find the thing that an identifier names',
    load: () => import('./commands/search.ts'),
  },
  {
    name: 'trigger',
    about: 'make an event of a test environment happen',
    load: () => import('./commands/trigger.ts'),
  },
  {
    name: 'listen',
    about: 'get the callbacks of a test environment on this machine',
    load: () => import('./commands/listen.ts'),
  },
  {
    name: 'timeline',
    about: 'show all that happened to a payment, and what comes next',
    load: () => import('./commands/timeline.ts'),
  },
  {
    name: 'logs',
    about: 'logs tail: requests of a merchant as they come',
    load: () => import('./commands/logs.ts'),
  },
  {
    name: 'files',
    about: 'files get: download a file of a ticket, comment or chargeback',
    load: () => import('./commands/files.ts'),
  },
  {
    name: 'login',
    about: 'sign in by a token or OpenID Connect, and keep it as a profile',
    load: () => import('./commands/login.ts'),
  },
  { name: 'logout', about: 'forget a profile', load: () => import('./commands/logout.ts') },
  { name: 'whoami', about: 'show whose token this is', load: () => import('./commands/whoami.ts') },
  {
    name: 'completion',
    about: 'print the completion for bash, zsh or fish',
    load: () => import('./commands/completion.ts'),
  },
]
