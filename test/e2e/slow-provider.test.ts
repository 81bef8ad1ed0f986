import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { clock } from '#lib/base/time.ts'
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

/** The metrics of the process, as a scraper reads them: the sum of the series whose line begins in this way. */
async function readMetrics(): Promise<(series: string) => number> {
  const response = await fetch(`${system.demo().health_url}/metrics`)
  const lines = (await response.text()).split('\n')
  return (series) =>
    lines
      .filter((line) => line.startsWith(series))
      .reduce((sum, line) => sum + Number(line.slice(line.lastIndexOf(' '))), 0)
}

/** The part of the time in which the event loop worked, over at least a second. Runs `work` in that time. */
async function eventLoopUse(work: () => void): Promise<number> {
  const loop = 'multihub_event_loop_seconds_total{state='
  const before = await readMetrics()
  work()
  const grown = async () => {
    const after = await readMetrics()
    const [active = 0, idle = 0] = ['active', 'idle'].map(
      (state) => after(`${loop}"${state}"}`) - before(`${loop}"${state}"}`),
    )
    return { active, idle }
  }
  const { active, idle } = await eventually(grown, (part) => (part?.active ?? 0) + (part?.idle ?? 0) >= 1)
  return active / (active + idle)
}

test('a provider that does not respond to one merchant delays no other merchant, and makes no process look busy', async () => {
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

  // What the autoscalers read (deploy/components/autoscaling-keda): the calls that wait are there, and use no slot.
  const held = await readMetrics()
  expect(held('multihub_gateway_requests_in_flight')).toBeGreaterThanOrEqual(HELD)
  expect(held('multihub_rpc_in_flight')).toBeGreaterThanOrEqual(HELD)
  expect(held('multihub_effects_in_flight{lane="external"}')).toBeGreaterThanOrEqual(HELD)
  await eventually(readMetrics, (read) => read?.('multihub_call_slots_in_use') === 0)
  expect(held('multihub_effects_due{documents="payments"')).toBe(0)
  expect(answered).toBe(0)
  // Other work on the machine makes each second of this process longer.
  await eventually(
    () => eventLoopUse(() => {}),
    (use = 1) => use < 0.7,
  )
})

test('an event loop that computes without a pause is in full use', async () => {
  const use = await eventLoopUse(() => {
    const end_ms = clock.monotonic_ms() + 1_000
    while (clock.monotonic_ms() < end_ms);
  })
  expect(use).toBeGreaterThan(0.7)
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
