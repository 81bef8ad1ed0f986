import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { eventually } from '../support/eventually.ts'
import { merchantClient } from '../support/merchant.ts'
import { type SystemHere, startHere } from '../support/system.ts'

/** More than the limit of connections to one provider. */
const HELD = 300
/** Digits 903: the provider accepts the order and does not respond. */
const UNANSWERED_VALUE = 10_903

let system: SystemHere
beforeAll(async () => {
  // The longest, so that on a slow machine the other merchant is served before the first create ends.
  system = await startHere({ MULTIHUB_CREATE_TIMEOUT: '60s' })
})
afterAll(() => system.end())

test('a provider that does not respond to one merchant does not delay another', async () => {
  const alpha = merchantClient(system.demo, 'alpha')
  const beta = merchantClient(system.demo, 'beta')
  let answered = 0
  const ids = Array.from({ length: HELD }, () => randomUUID())
  for (const c_id of ids) {
    const count = (): void => {
      answered += 1
    }
    alpha.deposit(UNANSWERED_VALUE, { c_id }).then(count, count)
  }
  // A stored payment is sent to the provider next, or waits for a connection.
  await eventually(
    () => Promise.all(ids.map((c_id) => alpha.status(c_id))),
    (statuses) => statuses?.every(({ body }) => body.success) === true,
  )
  const { body } = await beta.deposit(10_000)
  expect(body.result.payment.status.status).toBe('processing')
  expect(answered).toBe(0)
})

// P4, P5
test('a create that the provider does not answer in time is answered, and polls find its success', async () => {
  const slow = await startHere({ MULTIHUB_CREATE_TIMEOUT: '1s' })
  try {
    const alpha = merchantClient(slow.demo)
    const created = await Promise.all([alpha.deposit(UNANSWERED_VALUE), alpha.withdraw(UNANSWERED_VALUE)])
    for (const { c_id, body } of created) {
      expect(body.result.payment.status).toMatchObject({ status: 'processing', final: false })
      await eventually(
        async () => (await alpha.status(c_id)).body.result.payment.status.status,
        (status) => status === 'success',
      )
    }
  } finally {
    await slow.end()
  }
})
