import { hash } from 'node:crypto'
import Fastify from 'fastify'
import { SECRET } from '../../gateway/gateway.fixture.ts'

const REQUEST_ID = '019aa5b0-7c00-7000-8000-000000000000'

/** The least that does the same visible work: check the hash, parse, answer as much, sign it. */
const app = Fastify()
app.removeAllContentTypeParsers()
app.addContentTypeParser('*', { parseAs: 'buffer' }, (_request, body, done) => done(null, body))
app.post<{ Body: Buffer }>('/public/api/multihub/v1', async (request, reply) => {
  if (hashOf(request.body) !== request.headers['x-data-hash']) return reply.code(400).send()
  const { method } = JSON.parse(request.body.toString())
  const result = { message: method === 'gateway.ping' ? 'pong' : method }
  const text = JSON.stringify({ success: true, result, request_id: REQUEST_ID, processing_time: 0.125 })
  const body = Buffer.from(text)
  return reply
    .header('content-type', 'application/json; charset=utf-8')
    .header('cache-control', 'no-store')
    .header('x-request-id', REQUEST_ID)
    .header('x-data-hash', hashOf(body))
    .send(body)
})
await app.listen({ port: 0, host: '127.0.0.1' })
const address = app.server.address()
if (typeof address === 'object') process.send?.(address?.port)

function hashOf(bytes: Buffer): string {
  return hash('sha512', Buffer.concat([bytes, Buffer.from(SECRET)]), 'hex')
}
