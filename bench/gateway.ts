import { clock } from '#lib/time.ts'
import { V1_PATH } from '../gateway/app.ts'
import { APPLICATION_ID, SECRET } from '../gateway/gateway.fixture.ts'
import { parseJson } from '../gateway/json/parse.ts'
import { startChild } from './child.ts'
import { rateOf, startLoadClient } from './load/client.ts'
import type { BenchResult } from './result.ts'
import { compared, inTurns } from './rounds.ts'

const ROUNDS = 7
const PING = {
  path: V1_PATH,
  application_id: APPLICATION_ID,
  secret: SECRET,
  body: JSON.stringify({ method: 'gateway.ping', params: {} }),
  in_flight: 64,
  duration_ms: 1500,
}
const PING_GOAL = { ratio: 0.6 }
const JSON_GOAL = { ratio: 1 / 2.5 }
const JSON_ROUND_BYTES = 20_000_000

/**
 * `gateway.ping`: the whole gateway beside a bare Fastify that checks and signs the same, each in a process of its
 * own, loaded in turns by a third. `json.strict`: the strict parser beside `JSON.parse` of the same bytes.
 */
export async function run(): Promise<BenchResult[]> {
  return [
    await benchPing(),
    await benchParser('json.strict 1 kB', paymentBody(1024)),
    await benchParser('json.strict 16 kB', listBody(16_384)),
  ]
}

async function benchPing(): Promise<BenchResult> {
  const ours = await startChild('./gateway/ours.child.ts')
  const floor = await startChild('./gateway/floor.child.ts')
  const client = await startLoadClient()
  try {
    const rounds = await inTurns(ROUNDS, {
      ours: () => client.load({ ...PING, port: Number(ours.ready) }),
      floor: () => client.load({ ...PING, port: Number(floor.ready) }),
    })
    return { name: 'gateway.ping', unit: 'requests/s', goal: PING_GOAL, ...compared(rounds, rateOf) }
  } finally {
    for (const child of [ours, floor, client]) child.end()
  }
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
function listBody(length: number): Buffer {
  const items: unknown[] = []
  const item = {
    id: 123_456,
    name: 'an item',
    tags: ['a', 'b'],
    price: { value: 12_345, currency: 'INR' },
    ok: true,
  }
  while (JSON.stringify(items).length < length) items.push(item)
  return Buffer.from(JSON.stringify({ items }))
}
