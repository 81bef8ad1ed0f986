import { clock } from '#lib/platform/time.ts'
import { parseJson } from '../gateway/json/parse-json.ts'
import { benchFlood } from './gateway/flood.ts'
import { benchMemory } from './gateway/memory.ts'
import { benchPing } from './gateway/ping.ts'
import type { BenchResult } from './result.ts'
import { compared, inTurns } from './rounds.ts'

const ROUNDS = 7
const PING_GOAL = { ratio: 0.7 }
const JSON_GOAL = { ratio: 1 / 2.5 }
const JSON_ROUND_BYTES = 20_000_000

/**
 * `gateway.ping` by each way to sign, what a flood of wrong signatures does to a caller, what 200,000 requests leave in
 * memory; and `json.strict`: the strict parser beside `JSON.parse` of the same bytes.
 */
export async function run(): Promise<BenchResult[]> {
  return [
    ...(await benchPing('gateway.ping', 'v1', PING_GOAL)),
    ...(await benchPing('gateway.ping with pair', 'v1 with pair', PING_GOAL)),
    ...(await benchPing('gateway.ping v2', 'v2', PING_GOAL)),
    await benchFlood(),
    ...(await benchMemory()),
    await benchParser('json.strict 1 kB', paymentBody(1024)),
    await benchParser('json.strict 16 kB', listBody(16_384)),
    await benchParser('json.strict 16 kB with a long integer', listBody(16_384, 9_007_199_254_740_991)),
    await benchParser('json.strict 16 kB of fractions', fractionsBody(16_384)),
  ]
}

async function benchParser(name: string, body: Buffer): Promise<BenchResult> {
  const times = Math.ceil(JSON_ROUND_BYTES / body.length)
  const rounds = await inTurns(ROUNDS, {
    ours: () => callsPerSecond(times, () => parseJson(body)),
    floor: () => callsPerSecond(times, () => JSON.parse(body.toString())),
  })
  return { name, unit: 'documents/s', goal: JSON_GOAL, ...compared(rounds, (rate) => rate) }
}

function callsPerSecond(times: number, call: () => unknown): number {
  const start_ms = clock.monotonic_ms()
  for (let count = 0; count < times; count += 1) call()
  return (times / (clock.monotonic_ms() - start_ms)) * 1000
}

/** A `payment.in` as a merchant sends it, its description as long as it takes. */
function paymentBody(length: number): Buffer {
  const payment = {
    identifiers: { c_id: 'order-2026-000123' },
    amount: { value: 150_000, currency: 'INR' },
    payer: {
      email: 'asha.rao@example.com',
      phone: '+911234567890',
      person: { first_name: 'Asha', last_name: 'Rao' },
      customer_account: { id: 'customer-77' },
    },
    client: { language: 'en', country: 'IN' },
    redirect: { on_success: 'https://shop.example.com/ok', on_fail: 'https://shop.example.com/fail' },
    webhook_url: 'https://shop.example.com/hooks/payments',
    description: '',
  }
  const request = { method: 'payment.in', service_id: 501, params: { payment } }
  payment.description = 'x'.repeat(Math.max(0, length - JSON.stringify(request).length))
  return Buffer.from(JSON.stringify(request))
}

/** Many small objects: the worst of ordinary documents for a check of keys. */
function listBody(length: number, total?: number): Buffer {
  const items: unknown[] = []
  const item = {
    id: 123_456,
    name: 'an item',
    tags: ['a', 'b'],
    price: { value: 12_345, currency: 'INR' },
    ok: true,
  }
  while (JSON.stringify(items).length < length) items.push(item)
  return Buffer.from(JSON.stringify({ items, total }))
}

/** What only a hostile client sends, and what costs a strict parser most. */
function fractionsBody(length: number): Buffer {
  return Buffer.from(JSON.stringify(Array(length / 4).fill(1.5)))
}
