import { resolveCopies } from './copies.ts'

/** Loaded before the roles of a process, so that it finds all copies of the other roles. */
resolveCopies()
