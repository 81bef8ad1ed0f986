import { createServer } from 'node:http'
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { type Listening, listen } from '#lib/http/network.ts'
import type {
  Capabilities,
  ProviderCallback,
  ProviderOrder,
  ProviderReport,
} from '../../services/payments/connectors/connector.ts'
import type { OperationKind } from '../../services/payments/domain/call-result.ts'
import { eventually } from '../support/eventually.ts'
import { HANG_LIMIT_MS } from '../support/hang-limit.ts'
import type { ReadConnector } from './connector.suite.ts'
import { orderOf } from './connector-orders.ts'

/** What a connector must make of callbacks: callbacks of its provider are reports, and everything else is nothing. */
export function callbackSuite({ operations, sends_callbacks }: Capabilities, read: ReadConnector): void {
  if (!sends_callbacks) {
    test('a callback of a provider that sends none is nothing', () => {
      const body = Buffer.from('{"status":"success"}')
      const callback = { method: 'POST', path: '/callbacks', headers: {}, body }
      expect(read().connector.parseCallback(callback)).toBeUndefined()
    })
    return
  }
  describe('a callback', () => {
    const received: ProviderCallback[] = []
    let receiver: Listening
    beforeAll(async () => {
      const server = createServer(async (request, response) => {
        const parts: Buffer[] = []
        for await (const part of request as AsyncIterable<Buffer>) parts.push(part)
        const { method = '', url: path = '', headers } = request
        received.push({ method, path, headers, body: Buffer.concat(parts) })
        response.writeHead(200, { 'content-length': 0 }).end()
      })
      receiver = await listen(server, { host: '127.0.0.1', port: 0, variable: 'none' })
    })
    afterAll(() => receiver.close(0))

    const parse = (callback: ProviderCallback): ProviderReport | undefined =>
      read().connector.parseCallback(callback)

    /** Creates an operation, and returns the callback about its success. */
    async function callbackOf(order: ProviderOrder): Promise<ProviderCallback> {
      await read().connector.create(order, HANG_LIMIT_MS)
      const found = await eventually(
        async () => received.find((callback) => parse(callback)?.idempotency_key === order.idempotency_key),
        (callback) => callback !== undefined,
      )
      if (!found) throw new Error('the provider sent no callback')
      return found
    }
    const orderWith = (kind: OperationKind): ProviderOrder =>
      orderOf(kind, {
        minor: 10_000n,
        callback_url: `http://${receiver.host_and_port}/callbacks/x?payment=1`,
      })

    test.each(operations.filter((kind) => kind !== 'refund'))(
      'about a %s reports its success',
      async (kind) => {
        const order = orderWith(kind)
        const { idempotency_key, amount } = order
        expect(parse(await callbackOf(order))).toEqual({
          kind,
          idempotency_key,
          result: expect.objectContaining({ kind: 'success', amount }),
        })
      },
    )

    test('that was altered in any part is nothing', async () => {
      const callback = await callbackOf(orderWith('deposit'))
      expect(parse(callback)).toBeDefined()
      for (const [what, altered] of alterations(callback))
        expect([what, parse(altered)]).toEqual([what, undefined])
    })
  })
}

/** The callback with one part altered, for every part that carries meaning. */
function* alterations(callback: ProviderCallback): Generator<readonly [string, ProviderCallback]> {
  const { path, headers, body } = callback
  yield ['another verb', { ...callback, method: 'PUT' }]
  yield ['another path', { ...callback, path: `${path}1` }]
  yield ['a path without its query', { ...callback, path: path.replace(/\?.*/, '') }]
  yield ['an empty body', { ...callback, body: Buffer.alloc(0) }]
  yield ['a longer body', { ...callback, body: Buffer.concat([body, Buffer.from(' ')]) }]
  for (const [name, value] of Object.entries(headers).filter(([name]) => name.startsWith('x-'))) {
    yield [`without ${name}`, { ...callback, headers: { ...headers, [name]: undefined } }]
    yield [`${name} twice`, { ...callback, headers: { ...headers, [name]: [String(value), String(value)] } }]
    for (const other of alteredTexts(String(value)))
      yield [`${name}: ${other}`, { ...callback, headers: { ...headers, [name]: other } }]
  }
  for (let position = 0; position < body.length; position += 1) {
    const flipped = Buffer.from(body)
    flipped[position] = (flipped[position] ?? 0) ^ 1
    yield [`bit in byte ${position}`, { ...callback, body: flipped }]
    yield [`cut at byte ${position}`, { ...callback, body: Buffer.from(body.subarray(0, position)) }]
  }
  const report: Readonly<Record<string, unknown>> = JSON.parse(Buffer.from(body).toString())
  for (const name of Object.keys(report)) {
    const { [name]: value, ...rest } = report
    yield [`without the field ${name}`, { ...callback, body: Buffer.from(JSON.stringify(rest)) }]
    const changed = typeof value === 'number' ? value + 1 : `${String(value)}1`
    yield [
      `another ${name}`,
      { ...callback, body: Buffer.from(JSON.stringify({ ...report, [name]: changed })) },
    ]
  }
}

function alteredTexts(text: string): string[] {
  const first = text.startsWith('0') ? '1' : '0'
  return ['', first + text.slice(1), `${text}0`, text.slice(0, -1), text.toUpperCase()].filter(
    (altered) => altered !== text,
  )
}
