import { expect, test } from '@jest/globals'
import { createActivity } from './activity.ts'
import { createChoices } from './random.ts'
import { createProcess } from './simulated-process.ts'

const CLOCK = { offset_ms: 0, rate: 1 }

test('a rare kind of request is waited for as often as a frequent one', async () => {
  const activity = createActivity()
  const choices = createChoices(1, 'activity')
  const frequent = createProcess('frequent', CLOCK)
  const rare = createProcess('rare', CLOCK)
  for (let count = 0; count < 100; count += 1) {
    activity.note(frequent, 'request', 'create deposit')
    activity.note(frequent, 'write', 'payments.payments')
  }
  activity.note(rare, 'request', 'create refund')
  activity.note(rare, 'write', 'payments.anomalies')

  const next = Array.from({ length: 100 }, () => activity.nextOfKind(choices))
  for (const [process, request, collection] of [
    [frequent, 'create deposit', 'payments.payments'],
    [rare, 'create refund', 'payments.anomalies'],
  ] as const) {
    activity.note(process, 'request', request)
    activity.note(process, 'write', collection)
  }
  const of_rare = (await Promise.all(next)).filter((process) => process === rare)
  expect(of_rare.length).toBeGreaterThan(30)
  expect(of_rare.length).toBeLessThan(70)
})

test('the next request of a kind that was not noted before is found', async () => {
  const activity = createActivity()
  const process = createProcess('one', CLOCK)
  const next = activity.nextRequest(['create refund', 'create /v1/reversals'])
  activity.note(createProcess('other', CLOCK), 'request', 'create deposit')
  activity.note(process, 'request', 'create /v1/reversals')

  expect(await next).toBe(process)
})
