import { startChild } from './child-process.ts'
import { type ReceiverReport, startReceivers } from './notifier/receivers.ts'
import {
  ATTEMPT_SECONDS,
  type EventLoad,
  ONE_MERCHANT_VARIABLE,
  RECEIVERS_VARIABLE,
  STOP,
} from './notifier/sender.ts'
import type { BenchResult } from './result.ts'
import { printProgress } from './rounds.ts'

const ENDPOINTS = 100
const EVENTS_PER_SECOND = 200
/** Twice the time limit of an attempt: those to silent receivers first fill their slots, then end and open circuit breakers. */
const SECONDS = Number(process.env['BENCH_SECONDS'] ?? 2 * ATTEMPT_SECONDS)
/** Of the code alone: silent receivers get no event, so that what they use up first is part of the measurement. */
const WARM_UP_SECONDS = 5
/** Enough that publishing never waits. */
const IN_FLIGHT = 1_024
const GOAL = { ratio: 1 / 1.5 }
const ORIGIN_P99_MAX_MS = 500

/** One merchant with one event of eleven, and the other merchant with ten. */
const MOSTLY_FIRST = [...Array.from({ length: 10 }, () => 0), 1]

/**
 * `notifier.fairness`: the time from an event to the arrival of its callback at healthy receivers, while others accept
 * callbacks and never answer. The baseline is the same load when all receivers are healthy: first with 1 and 10 % of 100
 * endpoints silent at 200 events per second, then with all of the 200 events per second of one merchant going to a silent
 * receiver, as another merchant sees it, and at last with 200 deliveries after five seconds, and more later, that hang at one
 * origin, as another origin of the same merchant sees it: each URL is used once, and 500 ms are the limit (N5). Set
 * BENCH_SECONDS for other measurements than of 20 s.
 */
export async function run(): Promise<BenchResult[]> {
  const all = { events_per_second: EVENTS_PER_SECOND }
  const none = await measure('none silent', ENDPOINTS, 0, all)
  const one = await measure('1 % silent', ENDPOINTS - 1, 1, all)
  const ten = await measure('10 % silent', ENDPOINTS - 10, 10, all)
  const other = { events_per_second: EVENTS_PER_SECOND * 1.1, receivers: MOSTLY_FIRST, timed_receiver: 1 }
  const next_to_healthy = await measure('a busy merchant', 2, 0, other)
  const next_to_silent = await measure('a busy merchant, silent', 1, 1, other)
  const origins = { events_per_second: 44, receivers: MOSTLY_FIRST, timed_receiver: 1, is_one_merchant: true }
  const both_healthy = await measure('two origins of a merchant', 2, 0, origins)
  const one_silent = await measure('two origins of a merchant, one silent', 1, 1, origins)
  return [
    {
      ...resultOf(
        'notifier.fairness, next to a silent origin of the same merchant',
        one_silent,
        both_healthy,
      ),
      goal: { at_most: ORIGIN_P99_MAX_MS },
    },
    resultOf('notifier.fairness, 1 % silent', one, none),
    resultOf('notifier.fairness, 10 % silent', ten, none),
    resultOf('notifier.fairness, next to a merchant with silent receivers', next_to_silent, next_to_healthy),
  ]
}

function resultOf(name: string, ours: ReceiverReport, baseline: ReceiverReport): BenchResult {
  const ratio = baseline.p99_ms / ours.p99_ms
  return { name: `${name}, p99`, ours: ours.p99_ms, baseline: baseline.p99_ms, unit: 'ms', ratio, goal: GOAL }
}

/** Measures with a notifier of its own, so that no circuit breaker and no backlog is left of another measurement. */
async function measure(
  name: string,
  healthy: number,
  silent: number,
  {
    is_one_merchant = false,
    ...load
  }: Pick<EventLoad, 'events_per_second' | 'receivers' | 'timed_receiver'> & {
    readonly is_one_merchant?: boolean
  },
): Promise<ReceiverReport> {
  printProgress(`notifier.fairness: ${name}`)
  const receivers = await startReceivers(healthy, silent)
  const urls = JSON.stringify([...receivers.silent, ...receivers.healthy])
  const notifier = await startChild('./notifier/notifier.child.ts', {
    [RECEIVERS_VARIABLE]: urls,
    ...(is_one_merchant && { [ONE_MERCHANT_VARIABLE]: '1' }),
  })
  const publish = (seconds: number, numbers = load.receivers) =>
    notifier.request({
      ...load,
      ...(numbers && { receivers: numbers }),
      events: (load.events_per_second ?? 0) * seconds,
      in_flight: IN_FLIGHT,
      wait_for_results: false,
    } satisfies EventLoad)
  try {
    const healthy_numbers = Array.from({ length: healthy }, (_, number) => silent + number)
    await publish(WARM_UP_SECONDS, healthy_numbers)
    await receivers.report()
    await publish(SECONDS)
    return await receivers.report()
  } finally {
    await notifier.request(STOP)
    notifier.kill()
    receivers.stop()
  }
}
