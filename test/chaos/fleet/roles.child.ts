import { resolveCopies } from './copies.ts'

/** Runs roles as `test/support/local-roles.ts` does, in a process that finds all copies of the other roles. */
resolveCopies()
await import('../../support/local-roles.ts')
