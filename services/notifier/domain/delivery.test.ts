import { expect, test } from '@jest/globals'
import { AT, delivery } from '../delivery.fixture.ts'
import { beginAttempt, recordAttempt } from './attempt.ts'
import { eraseDelivery } from './delivery.ts'

// O11
test('an erasure takes what receivers answered, and drops the result of the try in progress', () => {
  const failure = {
    started_at: AT,
    duration_ms: 12,
    http_status: 500,
    failure: 'http_status',
    response_start: Buffer.from('sealed'),
  } as const
  const failed = recordAttempt(delivery(), failure, AT, 0.5)
  expect(failed.attempts[0]?.response_start).toBeDefined()
  const trying = beginAttempt(failed, 'lease-1', AT)
  if (trying === undefined) throw new Error('the delivery was not tried again')
  const erased = eraseDelivery(trying, AT)
  expect(erased).toMatchObject({ status: 'dead', erased_at: AT, attempts: [{ http_status: 500 }] })
  // Without it the result of the try has no fence, so it is not stored.
  expect(erased.attempt).toBeUndefined()
  expect(erased.attempts[0]).not.toHaveProperty('response_start')
  expect([erased.due_at, erased.waits_since]).toEqual([undefined, undefined])
})
