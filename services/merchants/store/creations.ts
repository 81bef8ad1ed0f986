import { checkRepetition } from '#lib/patterns/idempotency/done-operations.ts'
import { Duplicate } from '#lib/store/errors.ts'
import { keyOf } from '#lib/store/lookup.ts'
import type { CollectionSpec, Store } from '#lib/store/store.ts'

/** One creation of the operator (O12). It is kept permanently, as the resource is. */
interface Creation {
  /** The collection of the resource, so that each kind has `operation_id`s of its own. */
  readonly kind: string
  /** Empty for the creation of a merchant. */
  readonly merchant_id: string
  readonly operation_id: string
  readonly payload_hash: string
  /** Who asked for it, where the answer holds a secret. */
  readonly principal_id?: string
  /** The id of the resource, which is stored under it after the creation. */
  readonly id: string
}

/** A creation that a request asks for. */
export type RequestedCreation = Omit<Creation, 'id'>

const SPEC = {
  name: 'creations',
  partition: ['kind', 'merchant_id', 'operation_id'],
  key: ['kind', 'merchant_id', 'operation_id'],
} as const satisfies CollectionSpec

const creationKey = keyOf(SPEC)

/**
 * Opens the collection of creations. The id of a resource is reserved here before the resource is stored, so that every
 * repetition of a creation, also after a crash in between, stores or finds the same one. Both functions throw 1013 when the
 * `operation_id` belongs to another request or principal.
 */
export async function openCreations(store: Store) {
  const creations = await store.collection<Creation>(SPEC)

  async function find(requested: RequestedCreation): Promise<string | undefined> {
    const creation = await creations.get(creationKey(requested))
    if (creation) checkRepetition(creation, requested)
    return creation?.id
  }

  return {
    /** The reserved id; `undefined` when there is none yet. */
    find,
    /** Reserves an id. Returns another one when an equal request was faster. */
    async reserve(requested: RequestedCreation, id: string): Promise<string> {
      try {
        await creations.insert({ ...requested, id })
        return id
      } catch (error) {
        const reserved = error instanceof Duplicate ? await find(requested) : undefined
        if (reserved === undefined) throw error
        return reserved
      }
    },
  }
}
