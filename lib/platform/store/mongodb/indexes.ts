import { type Collection, type Document, type IndexDescription, MongoServerError } from 'mongodb'
import { backoffDelay } from '#lib/platform/backoff.ts'
import { randomFraction } from '#lib/platform/crypto/random.ts'
import { Duplicate } from '#lib/platform/store/errors.ts'
import { dotted, type Index, type Layout } from '#lib/platform/store/layout.ts'
import { sleep } from '#lib/platform/time.ts'
import type { StoredDocument } from './documents.ts'
import { DUPLICATE, readFailure } from './failures.ts'

const EXPIRES = 'expires'
/** IndexOptionsConflict and IndexKeySpecsConflict. */
const ANOTHER_DEFINITION = [85, 86]
/** What PostgreSQL says, under code 1, of documents that break the index. */
const FERRETDB_VIOLATED = /could not create (?:exclusion constraint|unique index)/
const TRIES_MAX = 8
const RACE_BACKOFF = { first_ms: 100, max_ms: 800 }

/**
 * Creates what is missing of a collection's indexes, by name. Other processes may do the same at the same time, and
 * one that loses such a race asks again. Throws `Duplicate` when the documents that exist break an index that is to
 * be unique, and `TypeError` when one exists under its name with another definition.
 */
export async function createIndexes(documents: Collection<StoredDocument>, layout: Layout): Promise<void> {
  for (const index of layout.indexes) await buildIndex(documents, layout.name, descriptionOf(index))
  if (layout.expires === undefined) return
  const key = { [layout.expires]: 1 } as const
  await buildIndex(documents, layout.name, { name: EXPIRES, key, expireAfterSeconds: 0 })
}

/**
 * Builds one index, which may exist already or be in the making elsewhere. `owner` is for its errors. Not bound by the
 * time limit of a call, as it takes as long as there are documents: the driver notices when the server is gone.
 */
export async function buildIndex<T extends Document>(
  documents: Collection<T>,
  owner: string,
  wanted: IndexDescription & { readonly name: string },
): Promise<void> {
  for (let tries = 1; ; tries += 1) {
    try {
      await documents.createIndexes([wanted])
      return
    } catch (error) {
      if (!(error instanceof MongoServerError)) throw readFailure(error)
      if (ANOTHER_DEFINITION.some((code) => code === error.code)) throw anotherDefinition(owner, error)
      if (error.code === DUPLICATE || FERRETDB_VIOLATED.test(error.message)) {
        throw new Duplicate(owner, wanted.name)
      }
      if (tries === TRIES_MAX) throw readFailure(error)
    }
    await sleep(backoffDelay(tries, RACE_BACKOFF, randomFraction()))
  }
}

function anotherDefinition(name: string, error: MongoServerError): TypeError {
  return new TypeError(
    `${name}: an index has another definition here; give the new one another name (${error.message})`,
    { cause: error },
  )
}

/** The key ends in `_id`, so that a find reads its order off the index; a unique index needs no tie-break. */
function descriptionOf(index: Index): IndexDescription & { name: string } {
  const key = new Map<string, 1>(index.paths.map((path) => [dotted(path), 1]))
  if (!index.unique) key.set('_id', 1)
  return {
    name: index.name,
    key,
    unique: index.unique,
    ...(index.where === undefined
      ? {}
      : { partialFilterExpression: { [dotted(index.where)]: { $exists: true } } }),
  }
}
