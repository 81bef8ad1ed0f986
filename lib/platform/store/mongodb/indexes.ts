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
/** PostgreSQL's message, under code 1, for documents that violate the index. */
const FERRETDB_VIOLATED = /could not create (?:exclusion constraint|unique index)/
const TRIES_MAX = 8
const RACE_BACKOFF = { first_ms: 100, max_ms: 800 }

/**
 * Creates the missing indexes of a collection, by name. Other processes may do the same at the same time; a lost race is
 * repeated. Throws `Duplicate` when existing documents violate a unique index, and `TypeError` when an index with the
 * same name and another definition exists.
 */
export async function createIndexes(documents: Collection<StoredDocument>, layout: Layout): Promise<void> {
  for (const index of layout.indexes) await buildIndex(documents, layout.name, descriptionOf(index))
  if (layout.expires === undefined) return
  const key = { [layout.expires]: 1 } as const
  await buildIndex(documents, layout.name, { name: EXPIRES, key, expireAfterSeconds: 0 })
}

/**
 * Builds one index, unless it exists or another process builds it. `owner` is named in errors. It has no time limit,
 * because it takes longer the more documents there are; the driver notices when the server is gone.
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
    `${name}: an index exists with another definition; give the new index another name (${error.message})`,
    { cause: error },
  )
}

/** The index key ends with `_id`, so that the index gives the order of a find. A unique index needs no tie-break. */
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
