import { backoffDelay } from '#lib/base/backoff.ts'
import { randomFraction } from '#lib/base/crypto/random.ts'
import { sleep } from '#lib/base/time.ts'
import { Unavailable } from '#lib/contract/errors/unavailable.ts'
import { Conflict, Duplicate } from '#lib/store/errors.ts'
import type { Collection, Fields, InsertOptions, Stored } from '#lib/store/store.ts'

/**
 * In each round of a race one writer succeeds, so 100 tries let 100 writers of one document finish even without any
 * pause. A caller that loses more often than that waits for several seconds already: it is better refused.
 */
const TRIES_MAX = 100

/** After a conflict the faster writer is done, so a try at once mostly succeeds and costs a hot path no pause. */
const IMMEDIATE_TRIES = 5

/** From about the time of one write to a pause in which some 100 writes fit. */
const CONFLICT_PAUSE = { first_ms: 1, max_ms: 100 }

/**
 * Changes one document under optimistic concurrency control: loads it, calls `decide`, and writes the result under the
 * version that was loaded. When another writer was faster it starts again, at once for the first tries and then after
 * pauses with jitter. `decide` runs once per try, so it must be pure; `undefined` from it means "no change".
 * `just_read`, a document that the caller has just read, replaces the first load. Returns the document as it is stored
 * afterwards, or `undefined` when it does not exist. Throws `Unavailable` after 100 conflicts, and what `decide` and
 * the store throw.
 */
export function update<D extends object>(
  collection: Pick<Collection<D>, 'get' | 'replace'>,
  key: Fields,
  decide: (current: Stored<D>) => D | undefined,
  just_read?: Stored<D>,
): Promise<Stored<D> | undefined> {
  return compareAndSet(
    (tries) => (tries === 1 && just_read ? Promise.resolve(just_read) : collection.get(key)),
    async (current) => {
      const next = current && decide(current)
      return next ? collection.replace(next, current.version) : current
    },
  )
}

/** Like `update`, for a document that may have to go: with the decision 'delete' it is deleted under its version. */
export async function updateOrDelete<D extends object>(
  collection: Pick<Collection<D>, 'get' | 'replace' | 'delete'>,
  key: Fields,
  decide: (current: Stored<D>) => D | 'delete' | undefined,
  just_read: Stored<D>,
): Promise<void> {
  await compareAndSet(
    (tries) => (tries === 1 ? Promise.resolve(just_read) : collection.get(key)),
    async (current) => {
      const next = current && decide(current)
      if (!current || !next) return
      if (next === 'delete') await collection.delete(key, current.version)
      else await collection.replace(next, current.version)
    },
  )
}

/** Like `update`, for a document that may not exist yet: `decide` gets `undefined` then, and its result is inserted. */
export function upsert<D extends object>(
  collection: Pick<Collection<D>, 'get' | 'insert' | 'replace'>,
  key: Fields,
  decide: (current: Stored<D> | undefined) => D | undefined,
): Promise<Stored<D> | undefined> {
  return compareAndSet(
    () => collection.get(key),
    async (current) => {
      const next = decide(current)
      if (!next) return current
      return current ? collection.replace(next, current.version) : collection.insert(next)
    },
  )
}

/** The document as it is stored after `insertOrGet`, and whether that call inserted it. */
export interface InsertOrGetResult<D> {
  readonly stored: Stored<D>
  readonly is_new: boolean
}

/**
 * Inserts a document, or returns the one that already has its key: the result of a repeated creation is that of the
 * first. The ordinary case costs one write and no read. When the holder of the key cannot be read, because it was just
 * deleted or its write undone, the insert is tried again. Throws `Duplicate` only for another index than the key,
 * `Unavailable` after 100 tries, and what the store throws. `options` are for the insert.
 */
export function insertOrGet<D extends object>(
  collection: Pick<Collection<D>, 'get' | 'insert'>,
  key: Fields,
  document: D,
  options?: InsertOptions,
): Promise<InsertOrGetResult<D>> {
  return compareAndSet<D, InsertOrGetResult<D>>(
    (tries) => (tries === 1 ? Promise.resolve(undefined) : collection.get(key)),
    async (current) =>
      current
        ? { stored: current, is_new: false }
        : { stored: await collection.insert(document, options), is_new: true },
  )
}

/** Loads and writes until no other writer is faster. `load` gets the number of the try, which begins at 1. */
async function compareAndSet<D extends object, R>(
  load: (tries: number) => Promise<Stored<D> | undefined>,
  write: (current: Stored<D> | undefined) => Promise<R>,
): Promise<R> {
  for (let tries = 1; tries <= TRIES_MAX; tries += 1) {
    const current = await load(tries)
    try {
      return await write(current)
    } catch (error) {
      if (!isLostRace(error)) throw error
      const pauses = tries - IMMEDIATE_TRIES
      if (pauses > 0) await sleep(backoffDelay(pauses, CONFLICT_PAUSE, randomFraction()))
    }
  }
  throw new Unavailable(
    `other writers changed a document ${TRIES_MAX} times while it was being updated; try again`,
  )
}

/** A duplicate in an index other than the key is not a race: the same insert fails again, so it is the caller's. */
function isLostRace(error: unknown): boolean {
  return error instanceof Conflict || (error instanceof Duplicate && error.index === 'key')
}

/** Deletes this version of a document. A newer version stays. */
export async function deleteUnchanged<D extends object>(
  collection: Collection<D>,
  key: Fields,
  version: number,
): Promise<void> {
  try {
    await collection.delete(key, version)
  } catch (error) {
    if (!(error instanceof Conflict)) throw error
  }
}
