import { createHmac, hash } from 'node:crypto'
import type { IncomingHttpHeaders } from 'node:http'
import { join } from 'node:path'
import Fastify from 'fastify'
import { open } from 'lmdb'
import { APPLICATION_ID, SECRET } from '../../gateway/gateway.fixture.ts'

const REQUEST_ID = '019aa5b0-7c00-7000-8000-000000000000'
/** As large as the document of a nonce in our store. */
const NONCE_DOCUMENT = Buffer.alloc(80)

const { BENCH_SIGNATURE: signature, BENCH_DIRECTORY: directory = '' } = process.env
const nonces = open<Buffer, string>({
  path: join(directory, 'baseline'),
  encoding: 'binary',
  overlappingSync: false,
})

/** The smallest server that does the same visible work: check the signature, store the nonce, parse, respond, sign. */
const app = Fastify()
app.removeAllContentTypeParsers()
app.addContentTypeParser('*', { parseAs: 'buffer' }, (_request, body, done) => done(null, body))
for (const version of ['v1', 'v2']) {
  app.post(`/public/api/multihub/${version}`, async ({ body: parsed, headers }, reply) => {
    const bytes = parsed as Buffer
    if (!isAuthentic(bytes, headers)) return reply.code(400).send()
    const nonce = headers['x-data-nonce']
    if (nonce !== undefined && !(await consume(String(nonce)))) return reply.code(400).send()
    const { method } = JSON.parse(bytes.toString())
    const result = { message: method === 'gateway.ping' ? 'pong' : method }
    const text = JSON.stringify({ success: true, result, request_id: REQUEST_ID, processing_time: 0.125 })
    const body = Buffer.from(text)
    return reply
      .header('content-type', 'application/json; charset=utf-8')
      .header('cache-control', 'no-store')
      .header('x-request-id', REQUEST_ID)
      .header(...signatureOf(body, headers))
      .send(body)
  })
}
await app.listen({ port: 0, host: '127.0.0.1' })
const address = app.server.address()
if (typeof address === 'object') process.send?.(address?.port)

function consume(nonce: string): Promise<boolean> {
  return nonces.ifNoExists(nonce, () => void nonces.put(nonce, NONCE_DOCUMENT))
}

function isAuthentic(body: Buffer, headers: IncomingHttpHeaders): boolean {
  if (signature !== 'v2') return hashOf(body) === headers['x-data-hash']
  const { 'x-data-timestamp': timestamp, 'x-data-nonce': nonce } = headers
  const path = '/public/api/multihub/v2'
  const text = ['service-multihub-request-v2', APPLICATION_ID, 'POST', path, timestamp, nonce, digestOf(body)]
  return macOf(text) === headers['x-data-signature']
}

function signatureOf(body: Buffer, headers: IncomingHttpHeaders): [string, string] {
  if (signature !== 'v2') return ['x-data-hash', hashOf(body)]
  const nonce = headers['x-data-nonce']
  const text = ['service-multihub-response-v2', APPLICATION_ID, nonce, REQUEST_ID, 200, digestOf(body)]
  return ['x-data-signature', macOf(text)]
}

function hashOf(bytes: Buffer): string {
  return hash('sha512', Buffer.concat([bytes, Buffer.from(SECRET)]), 'hex')
}

function digestOf(bytes: Buffer): string {
  return hash('sha256', bytes, 'hex')
}

function macOf(parts: readonly unknown[]): string {
  return createHmac('sha512', SECRET).update(parts.join('\n')).digest('hex')
}
