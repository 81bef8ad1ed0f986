import { now } from '#lib/base/time.ts'
import { EFFECT_INDEXES } from '#lib/patterns/effects/effect.ts'
import { createRunStore, type RunDocument } from '#lib/patterns/effects/runs.ts'
import { MEMBERS_SPEC } from '#lib/patterns/membership/membership.ts'
import { withCodec } from '#lib/store/coded-collection.ts'
import { keyOf } from '#lib/store/lookup.ts'
import type { CollectionSpec, Store } from '#lib/store/store.ts'
import { TEST_END_INDEX } from '#lib/store/test-end.ts'
import { canEnd, type Operation } from '../domain/operation.ts'

/** The collection of operations. The key of an operation is unique within its account. */
export const OPERATIONS = {
  name: 'operations',
  partition: ['idempotency_key'],
  key: ['idempotency_key', 'account_id'],
  indexes: { ...EFFECT_INDEXES, ...TEST_END_INDEX },
} as const satisfies CollectionSpec

/** Opens the collections. */
export async function openSandboxStore(store: Store) {
  return {
    operations: withCodec<Operation, Operation>(await store.collection<Operation>(OPERATIONS), {
      encode: (operation) => ({ ...operation, test_ended_at: canEnd(operation) ? now() : undefined }),
      decode: (operation) => operation,
    }),
    runs: createRunStore(await store.collection<RunDocument>(MEMBERS_SPEC), 'sandbox', store),
  }
}

/** Takes the key from an operation. */
export const operationKey = keyOf(OPERATIONS)
