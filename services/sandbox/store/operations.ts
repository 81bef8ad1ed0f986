import { EFFECT_INDEXES } from '#lib/patterns/effects/effect.ts'
import { keyOf } from '#lib/store/lookup.ts'
import type { Collection, CollectionSpec, Store } from '#lib/store/store.ts'
import type { Operation } from '../domain/operation.ts'

const OPERATIONS = {
  name: 'operations',
  partition: ['idempotency_key'],
  key: ['idempotency_key', 'account_id'],
  indexes: EFFECT_INDEXES,
} as const satisfies CollectionSpec

/** Opens the collection of operations. They are kept permanently, because each key names one operation permanently. */
export function openOperations(store: Store): Promise<Collection<Operation>> {
  return store.collection<Operation>(OPERATIONS)
}

/** The key of an operation: its idempotency key is unique within its account. */
export const operationKey = keyOf(OPERATIONS)
