import { type BenchChild, startChild } from './child-process.ts'
import { type ReceiverReport, startReceivers } from './notifier/receivers.ts'
import { type EventLoad, RECEIVERS_VARIABLE, type SendReport, STOP } from './notifier/sender.ts'
import type { BenchResult } from './result.ts'
import { measureAlternately, medianOf } from './rounds.ts'

const ENDPOINTS = 10
const IN_FLIGHT = 64
const EVENTS = 5_000
const ROUNDS = 3
const WARM_UP_ROUNDS = 2
const DELIVER_GOAL = { ratio: 0.6 }

const STEADY_EVENTS_PER_SECOND = 200
const STEADY_EVENTS = 2_000
const P50_GOAL = { at_most: 2 }
const P99_GOAL = { at_most: 5 }

/**
 * `notifier.deliver`: callbacks to ten receivers that answer at once, 64 in flight, from the event to the recorded success.
 * The baseline is a bare loop that signs the same bodies and posts them, and stores nothing. `required I/O only`
 * (required-io.child.ts) measures the storage that the contract requires: the notifier cannot cost less. `at 200/s` measures
 * the time from the publication of an event to the arrival of its callback, while 200 events per second are published.
 */
export async function run(): Promise<BenchResult[]> {
  const receivers = await startReceivers(ENDPOINTS)
  const variables = { [RECEIVERS_VARIABLE]: JSON.stringify(receivers.healthy) }
  const ours = await startChild('./notifier/notifier.child.ts', variables)
  const required_io = await startChild('./notifier/required-io.child.ts', variables)
  const bare = await startChild('./notifier/bare.child.ts', variables)
  const measure = (child: BenchChild, load: EventLoad) => async (): Promise<Measurement> => {
    const use = (await child.request(load)) as SendReport
    return { ...(await receivers.report()), ...use }
  }
  const compare = (name: string, child: BenchChild, load: EventLoad) =>
    measureAlternately(
      name,
      ROUNDS,
      { ours: measure(child, load), baseline: measure(bare, load) },
      WARM_UP_ROUNDS,
    )
  try {
    const load = { events: EVENTS, in_flight: IN_FLIGHT }
    const full = await compare('notifier.deliver', ours, load)
    const required = await compare('notifier.deliver, required I/O only', required_io, load)
    const steady = await compare('notifier.deliver at 200/s', ours, {
      events: STEADY_EVENTS,
      in_flight: IN_FLIGHT,
      events_per_second: STEADY_EVENTS_PER_SECOND,
    })
    const p50 = medianOf(steady, ({ p50_ms }) => p50_ms, 'lower')
    const p99 = medianOf(steady, ({ p99_ms }) => p99_ms, 'lower')
    return [
      { name: 'notifier.deliver', ...medianOf(full, rateOf), unit: 'deliveries/s', goal: DELIVER_GOAL },
      { name: 'notifier.deliver, processor', ...medianOf(full, cpuOf, 'lower'), unit: 'ms/delivery' },
      {
        name: 'notifier.deliver, required I/O only',
        ...medianOf(required, rateOf),
        unit: 'deliveries/s',
      },
      {
        name: 'notifier.deliver, required I/O only, processor',
        ...medianOf(required, cpuOf, 'lower'),
        unit: 'ms/delivery',
      },
      { name: 'notifier.deliver at 200/s, p50', ...p50, unit: 'ms', goal: P50_GOAL },
      { name: 'notifier.deliver at 200/s, p99', ...p99, unit: 'ms', goal: P99_GOAL },
    ]
  } finally {
    for (const child of [ours, required_io]) {
      await child.request(STOP)
      child.kill()
    }
    bare.kill()
    receivers.stop()
  }
}

type Measurement = ReceiverReport & SendReport

const rateOf = ({ distinct, elapsed_ms }: Measurement): number => (distinct / elapsed_ms) * 1_000

const cpuOf = ({ cpu_ms, distinct }: Measurement): number => cpu_ms / distinct
