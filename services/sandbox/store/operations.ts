import { EFFECT_INDEXES } from '#lib/patterns/effects/effect.ts'
import { createRunStore, type RunDocument } from '#lib/patterns/effects/runs.ts'
import { MEMBERS_SPEC } from '#lib/patterns/membership/membership.ts'
import { keyOf } from '#lib/store/lookup.ts'
import type { CollectionSpec, Store } from '#lib/store/store.ts'
import type { Operation } from '../domain/operation.ts'

const OPERATIONS = {
  name: 'operations',
  partition: ['idempotency_key'],
  key: ['idempotency_key', 'account_id'],
  indexes: EFFECT_INDEXES,
} as const satisfies CollectionSpec

/** Opens the collections. Operations are kept permanently, because each key names one operation permanently. */
export async function openSandboxStore(store: Store) {
  return {
    operations: await store.collection<Operation>(OPERATIONS),
    runs: createRunStore(await store.collection<RunDocument>(MEMBERS_SPEC), 'sandbox', store),
  }
}

/** The key of an operation: its idempotency key is unique within its account. */
export const operationKey = keyOf(OPERATIONS)
