import { MongoError, MongoServerError, MongoWriteConcernError } from 'mongodb'
import { Unavailable } from '#lib/contract/errors/unavailable.ts'
import { Ambiguous } from '#lib/platform/store/errors.ts'
import { dotted, type Layout } from '#lib/platform/store/layout.ts'

/** What a server answers when it refused a command before doing anything: not the primary, no right, no such thing. */
const REFUSED = [13, 18, 59, 8000, 10058, 10107, 13435, 13436]
/** A command that no server can do: a bad value, type or operator. */
const MALFORMED = [2, 9, 14, 17287]
const TOO_LARGE = [10334, 17280]
/** The code of a duplicate in a unique index. */
export const DUPLICATE = 11000
const FERRETDB_DUPLICATE = /duplicate key value violates unique constraint/
/** Under this number (PostgreSQL's 40P01) or code 1, FerretDB tells of writers that waited for each other. */
const FERRETDB_DEADLOCK = 16_908_292

/** A call that was given up: the driver goes on with it, and may yet send it. */
export class CallTimeout extends Error {}

/** What a failed read means to its caller. A read that the server calls malformed is a fault of ours and stays one. */
export function readFailure(error: unknown): unknown {
  if (error instanceof MongoServerError && MALFORMED.some((code) => code === error.code)) return error
  return isFailure(error) ? new Unavailable('MongoDB did not answer a read', { cause: error }) : error
}

/**
 * What a failed write means to its caller, who sent `commands` of them: the driver sends a second one when the first
 * got no answer, and then the refusal of the second proves nothing about the first. A duplicate stays as it is.
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
  return new Ambiguous('MongoDB may or may not have done a write', { cause: error })
}

/** Whether it is the database or the way to it that failed. The driver lets some errors of sockets through bare. */
function isFailure(error: unknown): boolean {
  if (error instanceof MongoError || error instanceof CallTimeout) return true
  return typeof error === 'object' && error !== null && 'code' in error
}

/**
 * Whether a write met a duplicate in a unique index. FerretDB answers a lost race with the error of PostgreSQL under
 * code 1.
 */
export function isDuplicate(error: unknown): error is MongoServerError {
  if (!(error instanceof MongoServerError)) return false
  return error.code === DUPLICATE || FERRETDB_DUPLICATE.test(error.message)
}

/**
 * The name of the index that a duplicate tells of, if it does. FerretDB gives no `keyPattern`; MongoDB's message may
 * quote a document, so its pattern goes first.
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
 * Whether a write was undone because it and another one waited for each other. In FerretDB writers of one unique value
 * do, as each shows its own entry before it looks for others; MongoDB sorts that out by itself.
 */
export function isDeadlock(error: unknown): boolean {
  if (!(error instanceof MongoServerError)) return false
  return error.code === FERRETDB_DEADLOCK || (error.code === 1 && error.message.includes('deadlock detected'))
}
