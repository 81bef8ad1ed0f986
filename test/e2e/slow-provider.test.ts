import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { eventually } from '../support/eventually.ts'
import { merchantClient } from '../support/merchant.ts'
import { startOneProcess, type TestSystem } from '../support/system.ts'

/** More than there were connections to a provider once. */
const HELD = 300
/** Digits 903: the provider takes the order and does not answer. */
const UNANSWERED_VALUE = 10_903

let system: TestSystem
beforeAll(async () => {
  system = await startOneProcess()
})
afterAll(() => system.end())

test('a provider that does not answer for one merchant holds up nobody else', async () => {
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
  // One that is stored is at the provider next, or waits for a connection there.
  await eventually(
    () => Promise.all(ids.map((c_id) => alpha.status(c_id))),
    (statuses) => statuses?.every(({ body }) => body.success) === true,
  )
  const { body } = await beta.deposit(10_000)
  expect(body.result.payment.status.status).toBe('processing')
  expect(answered).toBe(0)
})
