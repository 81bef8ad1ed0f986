import { createHmac } from 'node:crypto'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { create } from '@bufbuild/protobuf'
import { afterEach, expect, test } from '@jest/globals'
import { PulledDeliverySchema } from '#gen/multihub/notifier/v1/listener_service_pb.ts'
import { freePort } from '../../../test/support/free-port.ts'
import { deliverCallback, isAuthentic, type LocalAnswer } from './deliver-callback.ts'

const DELIVERY = create(PulledDeliverySchema, {
  deliveryId: 'd1',
  headers: { 'content-type': 'application/json' },
  body: Buffer.from('{"a":1}'),
})

let server: Server | undefined
afterEach(async () => {
  server?.closeAllConnections()
  await new Promise((resolve) => (server === undefined ? resolve(undefined) : server.close(resolve)))
  server = undefined
})

async function listen(port: number, onRequest: Parameters<typeof createServer>[1]): Promise<number> {
  server = createServer(onRequest as never)
  await new Promise<void>((resolve) => server?.listen(port, '127.0.0.1', resolve))
  return (server.address() as AddressInfo).port
}

test('a receiver that breaks off is tried three times, so that it does not hold up the other callbacks', async () => {
  const port = await listen(0, ({ socket }: { socket: { destroy(): void } }) => socket.destroy())
  const answers: LocalAnswer[] = []
  await deliverCallback(DELIVERY, new URL(`http://127.0.0.1:${port}/`), (answer) => answers.push(answer))
  expect(answers.map((answer) => [answer.kind, 'next' in answer && answer.next])).toEqual([
    ['broke_off', 'sent_again'],
    ['broke_off', 'sent_again'],
    ['broke_off', 'given_up'],
  ])
})

test('a receiver that is not there is waited for, and gets the exact bytes and headers', async () => {
  const port = await freePort()
  const answers: LocalAnswer[] = []
  const bodies: string[] = []
  const kinds: unknown[] = []
  const delivered = deliverCallback(DELIVERY, new URL(`http://127.0.0.1:${port}/`), (answer) => {
    answers.push(answer)
    if (answers.length === 1)
      void listen(port, async (request, response) => {
        kinds.push(request.headers['content-type'])
        for await (const chunk of request) bodies.push(String(chunk))
        response.end('taken')
      })
  })
  await delivered
  expect(answers.map(({ kind }) => kind)).toEqual(['unreachable', 'answered'])
  expect([bodies.join(''), kinds]).toEqual(['{"a":1}', ['application/json']])
})

test('a receiver that sends elsewhere has not taken the callback, which goes nowhere else', async () => {
  const asked: unknown[] = []
  const port = await listen(0, ({ url }, response) => {
    asked.push(url)
    response.writeHead(asked.length === 1 ? 307 : 200, { location: '/elsewhere' }).end()
  })
  const answers: LocalAnswer[] = []
  await deliverCallback(DELIVERY, new URL(`http://127.0.0.1:${port}/`), (answer) => answers.push(answer))
  expect(answers).toMatchObject([
    { status: 307, next: 'sent_again' },
    { status: 200, next: 'taken' },
  ])
  expect(asked).toEqual(['/', '/'])
})

// N3
test('a callback is authentic with its own secret, time, nonce, id and body only', () => {
  const signature = createHmac('sha512', 'secret').update('1.n.d1.{"a":1}').digest('hex')
  const headers = {
    'X-Webhook-Timestamp': '1',
    'x-webhook-nonce': 'n',
    'x-webhook-id': 'd1',
    'x-webhook-signature-v3': signature,
  }
  const signed = { ...DELIVERY, headers }
  expect(isAuthentic(signed, 'secret')).toBe(true)
  expect(isAuthentic(signed, 'other')).toBe(false)
  expect(isAuthentic({ ...signed, body: Buffer.from('{"a":2}') }, 'secret')).toBe(false)
  for (const name of Object.keys(headers))
    expect(isAuthentic({ ...signed, headers: { ...headers, [name]: '2' } }, 'secret')).toBe(false)
  expect(isAuthentic(DELIVERY, 'secret')).toBe(false)
})
