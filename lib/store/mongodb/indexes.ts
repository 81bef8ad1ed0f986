import { type Collection, type Document, type IndexDescription, MongoServerError } from 'mongodb'
import { backoffDelay } from '#lib/base/backoff.ts'
import { randomFraction } from '#lib/base/crypto/random.ts'
import { sleep } from '#lib/base/time.ts'
import { Unavailable } from '#lib/contract/errors/unavailable.ts'
import { Duplicate } from '../errors.ts'
import { dotted, type Index, type Layout } from '../layout.ts'
import { DUPLICATE, readFailure } from './failures.ts'

/** The end of a failure that `migrate` mends. */
export const MIGRATE_ADVICE =
  'run "main.ts migrate" of this release, then start it again; in Kubernetes apply the job "migrate" and wait for its end'

const EXPIRES = 'expires'
/** The code of a command on a collection that does not exist. */
export const NAMESPACE_NOT_FOUND = 26
/** IndexOptionsConflict and IndexKeySpecsConflict. */
const ANOTHER_DEFINITION = [85, 86]
/** PostgreSQL's message, under code 1, for documents that violate the index. */
const FERRETDB_VIOLATED = /could not create (?:exclusion constraint|unique index)/
const TRIES_MAX = 12
const RACE_BACKOFF = { first_ms: 100, max_ms: 800 }

/** An index with its definition for the server. */
export type NamedIndex = IndexDescription & { readonly name: string }

/**
 * Creates the missing indexes of a collection, by name. Other processes may do the same at the same time; a lost race is
 * repeated. Throws `Duplicate` when existing documents violate a unique index, and `TypeError` when an index with the
 * same name and another definition exists.
 */
export async function createIndexes<T extends Document>(
  documents: Collection<T>,
  indexes: readonly NamedIndex[],
): Promise<void> {
  for (const index of indexes) await createIndex(documents, index)
}

/**
 * Checks that a collection has its indexes, without creating any: a serving process needs no permission for that. Throws
 * `Unavailable`, which names the missing indexes and the command that creates them.
 */
export async function verifyIndexes<T extends Document>(
  documents: Collection<T>,
  indexes: readonly NamedIndex[],
): Promise<void> {
  const stored = await documents.indexes().catch((error: unknown) => {
    if (error instanceof MongoServerError && error.code === NAMESPACE_NOT_FOUND) return []
    throw readFailure(error)
  })
  const definitions = new Map(stored.map((index) => [index.name, definitionOf(index)]))
  const missing = indexes.filter((index) => definitions.get(index.name) !== definitionOf(index))
  if (missing.length === 0) return
  const names = missing.map(({ name }) => name).join(', ')
  throw new Unavailable(`the collection ${documents.namespace} lacks the indexes ${names}: ${MIGRATE_ADVICE}`)
}

/** All indexes of a collection; its identity needs none. */
export function indexesOf(layout: Layout): readonly NamedIndex[] {
  const descriptions = layout.indexes.map(descriptionOf)
  if (layout.expires === undefined) return descriptions
  return [...descriptions, { name: EXPIRES, key: { [layout.expires]: 1 }, expireAfterSeconds: 0 }]
}

/** The parts of an index that this store declares, as text: servers add parts of their own. */
function definitionOf(
  index: Pick<IndexDescription, 'key' | 'unique' | 'partialFilterExpression'> & {
    readonly expireAfterSeconds?: unknown
  },
): string {
  const key = index.key instanceof Map ? [...index.key] : Object.entries(index.key)
  const expires = index.expireAfterSeconds === undefined ? null : Number(index.expireAfterSeconds)
  return JSON.stringify([
    key.map(([field, direction]) => [field, Number(direction)]),
    index.unique ?? false,
    index.partialFilterExpression ?? null,
    expires,
  ])
}

/**
 * Creates one index, unless it exists or another process creates it. It has no time limit, because it takes longer the
 * more documents there are; the driver notices when the server is gone.
 */
async function createIndex<T extends Document>(documents: Collection<T>, wanted: NamedIndex): Promise<void> {
  const owner = documents.collectionName
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
function descriptionOf(index: Index): NamedIndex {
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
