

import { clock } from '#lib/time.ts'
import { V1_PATH } from '../gateway/app.ts'
import { signedHeaders } from '../gateway/gateway.fixture.ts'
import { parseJson } from '../gateway/json/parse.ts'
import type { LoadOrder, LoadReport } from './gateway/load.ts'
import type { BenchResult } from './result.ts'

const IN_FLIGHT = 64
const ROUND_MS = 1500
const ROUNDS = 7
const PING_GOAL = 0.7
const JSON_GOAL = 1 / 2.5

/**
 * `gateway.ping`: the whole gateway beside a bare Fastify that checks and signs the same, each in a process of its
 * own, loaded in turns by a third. `json.strict`: the strict parser beside `JSON.parse` of the same bytes.
 */
export async function run(): Promise<BenchResult[]> {
  const ping = await benchPing()
  return [
    ping,
    benchParser('json.strict 1 kB', paymentBody(1024)),
    benchParser('json.strict 16 kB', listBody(16_384)),
  ]
}

async function benchPing(): Promise<BenchResult> {
  const children = ['ours', 'floor', 'load'].map((name) => start(name))
  const [ours, floor, client] = children
  if (ours === undefined || floor === undefined || client === undefined) throw new Error('no children')
  try {
    const [ours_port, floor_port] = [Number(await answerOf(ours)), Number(await answerOf(floor))]
    const rates = { ours: [] as number[], floor: [] as number[] }
    for (let round = 0; round <= ROUNDS; round += 1) {
      const floor_rate = await rateOf(client, floor_port)
      const ours_rate = await rateOf(client, ours_port)
      // The first round only warms up.
      if (round > 0) rates.floor.push(floor_rate)
      if (round > 0) rates.ours.push(ours_rate)
    }
    return compared('gateway.ping', rates, 'requests/s', PING_GOAL)
  } finally {
    for (const child of children) child.kill()
  }
}

function start(name: string): ChildProcess {
  const file = new URL(`./gateway/${name}.child.ts`, import.meta.url)
  return fork(file, { stdio: ['ignore', 'ignore', 'ignore', 'ipc'] })
}

async function answerOf(child: ChildProcess): Promise<unknown> {
  const [answer] = await once(child, 'message')
  return answer
}

async function rateOf(client: ChildProcess, port: number): Promise<number> {
  const body = JSON.stringify({ method: 'gateway.ping', params: {} })
  const headers = Object.entries({ host: '127.0.0.1', 'content-length': body.length, ...signedHeaders(body) })
  const lines = [`POST ${V1_PATH} HTTP/1.1`, ...headers.map(([name, value]) => `${name}: ${value}`), '', '']
  const order: LoadOrder = { port, head: lines.join('\r\n'), body, sockets: IN_FLIGHT, duration_ms: ROUND_MS }
  client.send(order)
  const report = (await answerOf(client)) as LoadReport
  if (report.failures !== 0) throw new Error(`the load client failed: ${JSON.stringify(report)}`)
  return (report.exchanges / report.elapsed_ms) * 1000
}

function benchParser(name: string, body: Buffer): BenchResult {
  const times = Math.ceil(20_000_000 / body.length)
  const rates = { ours: [] as number[], floor: [] as number[] }
  for (let round = 0; round < ROUNDS; round += 1) {
    rates.floor.push(rateOfCalls(times, () => JSON.parse(body.toString())))
    rates.ours.push(rateOfCalls(times, () => parseJson(body)))
  }
  return compared(name, rates, 'documents/s', JSON_GOAL)
}

function rateOfCalls(times: number, call: () => unknown): number {
  const start_ms = clock.monotonic_ms()
  for (let count = 0; count < times; count += 1) call()
  return (times / (clock.monotonic_ms() - start_ms)) * 1000
}

function compared(
  name: string,
  rates: { readonly ours: readonly number[]; readonly floor: readonly number[] },
  unit: string,
  goal: number,
): BenchResult {
  const [ours, floor] = [median(rates.ours), median(rates.floor)]
  return { name, ours, floor, unit, ratio: ours / floor, goal }
}

function median(values: readonly number[]): number {
  return [...values].sort((a, b) => a - b)[values.length >> 1] ?? 0
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
