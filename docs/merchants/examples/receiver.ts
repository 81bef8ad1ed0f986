// Takes callbacks, believes only those that verify, and says what they tell (Node.js 24): node receiver.ts
import { createHmac, timingSafeEqual } from 'node:crypto'
import { createServer, type IncomingHttpHeaders } from 'node:http'

const { SECRET = '', WEBHOOK_SECRET = '', PORT = '8099' } = process.env
if (!SECRET && !WEBHOOK_SECRET) {
  console.error('Set SECRET for callbacks to a webhook_url, or WEBHOOK_SECRET for those to an endpoint.')
  process.exit(1)
}
// An endpoint's secret is its own; that of a payment's own webhook_url is derived from the API secret.
const derived = createHmac('sha256', SECRET).update('service:merchant-webhook-signing:v1').digest('hex')
const callback_secret = WEBHOOK_SECRET || derived
const FRESH_MS = 300_000

function verifies(headers: IncomingHttpHeaders, raw: Buffer): boolean {
  const read = (name: string): string => String(headers[`x-webhook-${name}`] ?? '')
  const timestamp = read('timestamp')
  const signed = `${timestamp}.${read('nonce')}.${read('id')}.`
  const expected = Buffer.from(createHmac('sha512', callback_secret).update(signed).update(raw).digest('hex'))
  const given = Buffer.from(read('signature-v3'))
  const is_fresh = Math.abs(Date.now() - Date.parse(timestamp)) <= FRESH_MS
  return is_fresh && given.length === expected.length && timingSafeEqual(given, expected)
}

const server = createServer(async (request, response) => {
  const chunks: Buffer[] = []
  for await (const chunk of request) chunks.push(chunk)
  const raw = Buffer.concat(chunks)
  if (!verifies(request.headers, raw)) return void response.writeHead(401).end()
  const { id, data } = JSON.parse(raw.toString())
  // The same event can come again, and late: this pair says whether it was seen before.
  console.log(`verified ${id} ${data.result.payment.status.status}`)
  response.writeHead(204).end()
})
server.on('error', (error: NodeJS.ErrnoException) => {
  const is_taken = error.code === 'EADDRINUSE'
  console.error(is_taken ? `Port ${PORT} is taken: set PORT to another one.` : error.message)
  process.exit(1)
})
server.listen(Number(PORT), '127.0.0.1', () => console.log('listening', server.address()))
