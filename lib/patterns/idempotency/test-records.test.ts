import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { now } from '#lib/base/time.ts'
import type { Collection } from '#lib/store/store.ts'
import { trustedClock } from '../../../test/support/clock-guard.ts'
import { installManualClock } from '../../../test/support/manual-clock.ts'
import { openTestStore, type TestStore } from '../../../test/support/store.ts'
import {
  createIdempotency,
  IDEMPOTENCY_COLLECTION,
  type Idempotency,
  type IdempotencyKey,
  type IdempotencyRecord,
} from './idempotency.ts'

const LIFETIME_MS = 86_400_000

let opened: TestStore
let idempotency: Idempotency
beforeAll(async () => {
  opened = await openTestStore()
  const records: Collection<IdempotencyRecord> = await opened.store.collection(IDEMPOTENCY_COLLECTION)
  idempotency = createIdempotency(records, trustedClock, {
    test_lifetime_ms: LIFETIME_MS,
    lasting_methods: ['ticket.create'],
  })
})
afterAll(async () => {
  await opened[Symbol.asyncDispose]()
})

const keyOf = (changes: Partial<IdempotencyKey>): IdempotencyKey => ({
  merchant_id: '7001',
  environment: 'test',
  method: 'ticket.comment',
  key: 'k',
  ...changes,
})

/** Runs a mutation. Returns whether its work was done, instead of the stored result. */
async function isDone(key: IdempotencyKey): Promise<boolean> {
  let is_done = false
  await idempotency.run(key, 'hash', async () => {
    is_done = true
    return Buffer.from('done')
  })
  return is_done
}

// O25
test('a record of the test environment ends, other records and the records of lasting methods do not', async () => {
  using clock = installManualClock(now().getTime())
  const ending = keyOf({})
  const lasting = [keyOf({ method: 'ticket.create' }), keyOf({ environment: 'production' })]
  for (const key of [ending, ...lasting]) expect(await isDone(key)).toBe(true)
  clock.stepWall(LIFETIME_MS - 1)
  expect(await isDone(ending)).toBe(false)
  clock.stepWall(1)
  expect(await isDone(ending)).toBe(true)
  clock.stepWall(1_000 * LIFETIME_MS)
  for (const key of lasting) expect(await isDone(key)).toBe(false)
})

test('a forgotten record leaves its key free, and a repetition does not forget the next record', async () => {
  using clock = installManualClock(now().getTime())
  const key = keyOf({ method: 'ticket.create', key: 'forgotten' })
  expect(await isDone(key)).toBe(true)
  const made_by = now()
  await idempotency.forget(key, made_by)
  clock.stepWall(1)
  expect(await isDone(key)).toBe(true)
  await idempotency.forget(key, made_by)
  expect(await isDone(key)).toBe(false)
})
