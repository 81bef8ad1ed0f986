import { type Collection, type IndexDescription, MongoServerError } from 'mongodb'
import { randomFraction } from '#lib/crypto/random.ts'
import { sleep } from '#lib/time.ts'
import { Duplicate } from '../errors.ts'
import { dotted, type Index, type Layout } from '../layout.ts'
import type { StoredDocument } from './documents.ts'
import { DUPLICATE, indexNamed, readFailure } from './failures.ts'

const EXPIRES = 'expires'
/** IndexOptionsConflict and IndexKeySpecsConflict. */
const ANOTHER_DEFINITION = [85, 86]
/** Building an index over what exists takes its time; a server that is away is noticed long before. */
const BUILD_TIMEOUT_MS = 10 * 60_000
const TRIES_MAX = 8
const RACE_PAUSE_MS = 50

/**
 * Creates what is missing of a collection's indexes, by name. Other processes may do the same at the same time, and
 * one that loses such a race asks again. Throws `Duplicate` when the documents that exist break an index that is to
 * be unique, and `TypeError` when one exists under its name with another definition.
 */
export async function createIndexes(documents: Collection<StoredDocument>, layout: Layout): Promise<void> {
  const wanted = layout.indexes.map(descriptionOf)
  if (layout.expires !== undefined) {
    wanted.push({ name: EXPIRES, key: { [layout.expires]: 1 }, expireAfterSeconds: 0 })
  }
  if (wanted.length === 0) return
  await buildIndexes(documents, layout.name, wanted, (error) => indexNamed(error, layout))
}

/** Builds indexes that may exist already, or are being built by others. */
export async function buildIndexes<T extends { readonly _id: unknown }>(
  documents: Collection<T>,
  name: string,
  wanted: IndexDescription[],
  nameOf: (error: MongoServerError) => string | undefined = () => undefined,
): Promise<void> {
  for (let tries = 1; ; tries += 1) {
    try {
      await documents.createIndexes(wanted, { timeoutMS: BUILD_TIMEOUT_MS })
      return
    } catch (error) {
      if (!(error instanceof MongoServerError)) throw readFailure(error)
      if (ANOTHER_DEFINITION.some((code) => code === error.code)) throw anotherDefinition(name, error)
      if (error.code === DUPLICATE) throw new Duplicate(name, nameOf(error) ?? 'unknown')
      if (tries === TRIES_MAX) throw readFailure(error)
    }
    await sleep(RACE_PAUSE_MS * tries * (1 + randomFraction()))
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
