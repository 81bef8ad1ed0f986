import { MongoError, MongoServerError, MongoWriteConcernError } from 'mongodb'
import { Unavailable } from '#lib/contract/errors/unavailable.ts'
import { Ambiguous } from '../errors.ts'
import { dotted, type Layout } from '../layout.ts'

/** Codes of a command that the server refused before it did anything: not the primary, no permission, not found. */
const REFUSED = [13, 18, 59, 8000, 10058, 10107, 13435, 13436]
/** Codes of a malformed command: a bad value, type or operator. */
const MALFORMED = [2, 9, 14, 17287]
const TOO_LARGE = [10334, 17280]
/** The code of a duplicate in a unique index. */
export const DUPLICATE = 11000
const FERRETDB_DUPLICATE = /duplicate key value violates unique constraint/
/** FerretDB reports deadlocks of writers under this number (PostgreSQL's 40P01) or under code 1. */
const FERRETDB_DEADLOCK = 16_908_292

/** A call reached its deadline. The driver continues with it and may still send it. */
export class CallTimeout extends Error {}

/** The error of a failed read for its caller. A read that the server calls malformed is our fault and stays as it is. */
export function readFailure(error: unknown): unknown {
  if (error instanceof MongoServerError && MALFORMED.some((code) => code === error.code)) return error
  return isFailure(error) ? new Unavailable('MongoDB did not answer a read', { cause: error }) : error
}

/**
 * The error of a failed write for its caller. `commands` is how many commands were sent: the driver sends a second one
 * when the first got no response, and a refusal of the second proves nothing about the first. A duplicate stays as it is.
 */
export function writeFailure(error: unknown, commands: number): unknown {
  if (!isFailure(error) || isDuplicate(error)) return error
  if (commands === 0 && !(error instanceof CallTimeout)) {
    return new Unavailable('MongoDB could not be reached', { cause: error })
  }
  if (commands === 1 && error instanceof MongoServerError && !(error instanceof MongoWriteConcernError)) {
    if (TOO_LARGE.some((code) => code === error.code)) return new TypeError(error.message, { cause: error })
    if (REFUSED.some((code) => code === error.code)) {
      return new Unavailable('MongoDB refused a write', { cause: error })
    }
  }
  return new Ambiguous('MongoDB may have done a write', { cause: error })
}

/** Whether the database or the connection failed. The driver passes some socket errors through unchanged. */
function isFailure(error: unknown): boolean {
  if (error instanceof MongoError || error instanceof CallTimeout) return true
  return typeof error === 'object' && error !== null && 'code' in error
}

/** Whether a write violated a unique index. FerretDB reports a lost race with PostgreSQL's message under code 1. */
export function isDuplicate(error: unknown): error is MongoServerError {
  if (!(error instanceof MongoServerError)) return false
  return error.code === DUPLICATE || FERRETDB_DUPLICATE.test(error.message)
}

/**
 * The name of the index that a duplicate error is about, if the error names it. FerretDB gives no `keyPattern`. MongoDB's
 * message may quote a document, so its `keyPattern` is used first.
 */
export function duplicateIndexName(error: MongoServerError, layout: Layout): string | undefined {
  const pattern: unknown = error['keyPattern']
  if (typeof pattern === 'object' && pattern !== null) {
    const fields = Object.keys(pattern).join()
    if (fields === '_id') return layout.identity.name
    return layout.indexes.find(({ unique, paths }) => unique && fields === paths.map(dotted).join())?.name
  }
  const name = /\bindex:? '?([A-Za-z0-9_]+)'?/i.exec(error.message)?.[1]
  return name === '_id_' ? layout.identity.name : name
}

/**
 * Whether a write was undone because of a deadlock with another write. FerretDB's writers of one unique value can
 * deadlock, because each adds its own entry before it checks for others. MongoDB's cannot.
 */
export function isDeadlock(error: unknown): boolean {
  if (!(error instanceof MongoServerError)) return false
  return error.code === FERRETDB_DEADLOCK || (error.code === 1 && error.message.includes('deadlock detected'))
}
