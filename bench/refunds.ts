import { randomUUID } from 'node:crypto'
import { clock } from '#lib/base/time.ts'
import { type SupportClient, startSupport } from '../test/integration/support.fixture.ts'
import type { BenchResult } from './result.ts'
import { measureAlternately, medianOf } from './rounds.ts'

const REQUESTS = 64
const ROUNDS = 9

/** The times of the requests of a round, in milliseconds. */
interface Times {
  readonly p50: number
  readonly p99: number
}

/**
 * `refunds`: 64 calls of `refund.request` at once for one payment (one is accepted), on the whole system in one
 * process. The baseline is as many calls at once, each for a payment of its own.
 */
export async function run(): Promise<BenchResult[]> {
  await using system = await startSupport()
  const shop = await system.newMerchant()
  const rounds = await measureAlternately('refunds', ROUNDS, {
    ours: () => measure(shop, 1),
    baseline: () => measure(shop, REQUESTS),
  })
  const row = (name: string, timeOf: (times: Times) => number): BenchResult => ({
    name: `refund.request, 64 at once for one payment, ${name}`,
    unit: 'ms',
    ...medianOf(rounds, timeOf, 'lower'),
  })
  return [row('p50', ({ p50 }) => p50), row('p99', ({ p99 }) => p99)]
}

/** Requests 64 refunds at once, of the first `payments` of 64 new payments. Each of them must accept exactly one. */
async function measure(shop: SupportClient, payments: number): Promise<Times> {
  // As many deposits as the baseline needs, so that both sides follow the same work.
  const deposits = await Promise.all(Array.from({ length: REQUESTS }, () => shop.deposit()))
  const times: number[] = []
  const request = async (number: number): Promise<number> => {
    const { c_id = '' } = deposits[number % payments] ?? {}
    const params = { identifiers: { c_id: randomUUID() }, payment: { c_id } }
    const started_ms = clock.monotonic_ms()
    const { http_status } = await shop.call('refund.request', params)
    times.push(clock.monotonic_ms() - started_ms)
    return http_status
  }
  const statuses = await Promise.all(Array.from({ length: REQUESTS }, (_, number) => request(number)))
  const accepted = statuses.filter((status) => status === 200).length
  if (accepted !== payments) throw new Error(`${accepted} refunds of ${payments} payments were accepted`)
  times.sort((a, b) => a - b)
  const at = (fraction: number): number => times[Math.floor(times.length * fraction)] ?? 0
  return { p50: at(0.5), p99: at(0.99) }
}
