import { clock } from '#lib/base/time.ts'
import { parseJson } from '../gateway/json/parse-json.ts'
import { benchFlood } from './gateway/flood.ts'
import { benchMemory } from './gateway/memory.ts'
import { benchExchanges, benchManyCredentials, benchPing } from './gateway/ping.ts'
import type { BenchResult } from './result.ts'
import { measureAlternately, medianOf } from './rounds.ts'

const ROUNDS = 7
const PING_GOAL = { ratio: 0.7 }
const JSON_GOAL = { ratio: 1 / 2.5 }
const JSON_ROUND_BYTES = 20_000_000

/**
 * Measures `gateway.ping` with each signature scheme, the delay of a valid caller during a flood of wrong signatures, and
 * the memory of the gateway after 200,000 requests. `json.strict` measures the strict parser against `JSON.parse`.
 */
export async function run(): Promise<BenchResult[]> {
  return [
    ...(await benchPing('gateway.ping', 'v1', PING_GOAL)),
    ...(await benchPing('gateway.ping with nonce', 'v1 with nonce', PING_GOAL)),
    ...(await benchPing('gateway.ping v2', 'v2', PING_GOAL)),
    ...(await benchExchanges()),
    ...(await benchManyCredentials()),
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
  const rounds = await measureAlternately(name, ROUNDS, {
    ours: () => callsPerSecond(times, () => parseJson(body)),
    baseline: () => callsPerSecond(times, () => JSON.parse(body.toString())),
  })
  return { name, unit: 'documents/s', goal: JSON_GOAL, ...medianOf(rounds, (rate) => rate) }
}

function callsPerSecond(times: number, call: () => unknown): number {
  const start_ms = clock.monotonic_ms()
  for (let count = 0; count < times; count += 1) call()
  return (times / (clock.monotonic_ms() - start_ms)) * 1000
}

/** A `payment.in` request as a merchant sends it. Its description is padded to reach the length. */
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

/** Many small objects: of the ordinary documents, they cost the check for duplicate keys the most. */
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

/** Fractions cost the strict parser the most. Only a hostile client sends them. */
function fractionsBody(length: number): Buffer {
  return Buffer.from(JSON.stringify(Array(length / 4).fill(1.5)))
}
