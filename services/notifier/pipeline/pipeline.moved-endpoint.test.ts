import { afterEach, beforeEach, expect, test } from '@jest/globals'
import { testKeys } from '#lib/base/crypto/keys.fixture.ts'
import { newSecret } from '#lib/base/crypto/secret.ts'
import { createMakeAttempt } from '../delivery/make-attempt.ts'
import type { AttemptResult } from '../domain/attempt.ts'
import { BODY, newDelivery, openPipelines, type PipelineFixture } from './pipeline.fixture.ts'
import { SLOT_LIMITS } from './slots.ts'

let fixture: PipelineFixture
/** Ends the requests to the new host that are in progress. */
let answers: (() => void)[]
let most: number

beforeEach(async () => {
  fixture = await openPipelines()
  answers = []
  most = 0
  const address = { timeout_seconds: 30, max_retries: 3, retry_delay_seconds: 1 }
  const secret = newSecret()
  const makeAttempt = createMakeAttempt({
    findBody: async () => BODY,
    findTarget: async () => ({ secret, address: { ...address, url: 'https://new.example.com/' } }),
    post() {
      const { promise, resolve } = Promise.withResolvers<AttemptResult>()
      answers.push(() => resolve({ started_at: new Date(0), duration_ms: 1, http_status: 200 }))
      most = Math.max(most, answers.length)
      return promise
    },
    person: testKeys().person,
    stopping: new AbortController().signal,
  })
  fixture.respond = ({ delivery }) => makeAttempt(delivery, { hasLease: () => true })
})
afterEach(() => fixture[Symbol.dispose]())

// N9
test('deliveries of endpoints that were moved to one host share the slots of that host', async () => {
  const { pipeline } = await fixture.startProcess('one')
  const deliveries = ['7001', '7002', '7003'].flatMap((merchant_id) =>
    ['a', 'b', 'c', 'd'].flatMap((name) =>
      Array.from({ length: 32 }, (_, number) =>
        newDelivery(number, `${name}${merchant_id}`, { merchant_id }),
      ),
    ),
  )
  for (const delivery of deliveries) await pipeline.queueDelivery(delivery, BODY)
  await fixture.clock.advance(1_000)
  expect(most).toBe(SLOT_LIMITS.host.unproven)
  while (answers.length > 0) {
    for (const answer of answers.splice(0)) answer()
    await fixture.clock.advance(100)
  }
  for (const delivery of deliveries)
    expect(await fixture.stored(delivery)).toMatchObject({
      status: 'delivered',
      url: 'https://new.example.com/',
      attempts: [{ number: 1 }],
    })
})
