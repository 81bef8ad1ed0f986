import type { RootDatabase } from 'lmdb'
import { Unavailable } from '#lib/contract/errors/unavailable.ts'
import { Ambiguous } from '../errors.ts'

/**
 * The error for the members of a failed group of writes. An error inside a transaction undoes it. A failed commit changed
 * nothing, unless it failed at its last step: then LMDB starts no further transaction, and the result is `Ambiguous`.
 */
export async function writeFailureOf(
  root: RootDatabase<Buffer, string>,
  error: unknown,
): Promise<Unavailable> {
  if (!isCommitFailure(error)) return new Unavailable('the store could not be written', { cause: error })
  // LMDB reports the reason through a second promise, which would end the process if it stayed unhandled.
  const cause = await reasonOf(error.commitError)
  try {
    await root.childTransaction(() => undefined)
  } catch {
    return new Ambiguous('the store failed in the middle of a commit', { cause })
  }
  return new Unavailable('the disk of the store is full or failing', { cause })
}

async function reasonOf(commit_error: Promise<unknown>): Promise<unknown> {
  try {
    return await commit_error
  } catch (reason) {
    return reason
  }
}

// Not `instanceof`: a test runner loads LMDB into a realm of its own, whose classes differ.
function isCommitFailure(error: unknown): error is { readonly commitError: Promise<unknown> } {
  if (typeof error !== 'object' || error === null || !('commitError' in error)) return false
  const { commitError } = error
  return typeof commitError === 'object' && commitError !== null && 'then' in commitError
}
