// Receives callbacks, verifies their signatures and prints the status of the payment (Node.js 24): node receiver.ts
import { createHmac, timingSafeEqual } from 'node:crypto'
import { createServer, type IncomingHttpHeaders, type IncomingMessage } from 'node:http'

const { SECRET = '', WEBHOOK_SECRET = '', PORT = '8099' } = process.env
if (!SECRET && !WEBHOOK_SECRET) {
  console.error('Set SECRET for callbacks to a webhook_url, or WEBHOOK_SECRET for callbacks to an endpoint.')
  process.exit(1)
}
// An endpoint has its own secret. The secret of a payment's webhook_url is derived from the API secret.
const derived_secret = createHmac('sha256', SECRET)
  .update('service:merchant-webhook-signing:v1')
  .digest('hex')
const callback_secret = WEBHOOK_SECRET || derived_secret
const MAX_AGE_MS = 300_000
const MAX_BODY_BYTES = 256 * 1024

function isAuthentic(headers: IncomingHttpHeaders, raw: Buffer): boolean {
  const read = (name: string): string => String(headers[`x-webhook-${name}`] ?? '')
  const timestamp = read('timestamp')
  const prefix = `${timestamp}.${read('nonce')}.${read('id')}.`
  const expected = Buffer.from(createHmac('sha512', callback_secret).update(prefix).update(raw).digest('hex'))
  const received = Buffer.from(read('signature-v3'))
  const is_recent = Math.abs(Date.now() - Date.parse(timestamp)) <= MAX_AGE_MS
  return is_recent && received.length === expected.length && timingSafeEqual(received, expected)
}

/** Reads the body of a request, but keeps no more of it than the largest callback has. */
async function readBody(request: IncomingMessage): Promise<Buffer | undefined> {
  const chunks: Buffer[] = []
  let length = 0
  for await (const chunk of request) {
    length += chunk.length
    if (length <= MAX_BODY_BYTES) chunks.push(chunk)
  }
  return length <= MAX_BODY_BYTES ? Buffer.concat(chunks) : undefined
}

/** Returns the HTTP status of the response. Parses nothing that is not signed. */
function handle(headers: IncomingHttpHeaders, raw: Buffer | undefined): number {
  if (raw === undefined) return 413
  if (!isAuthentic(headers, raw)) return 401
  try {
    const { id, data } = JSON.parse(raw.toString())
    // The same callback can arrive again, also much later: id and status together identify it, and for payment.refunded
    // also the operations, because each refund adds one.
    // Accept also what you do not use, such as the test event: an endpoint that refuses events is paused.
    console.log(`verified ${id} ${data.result.payment?.status.status ?? ''}`)
    return 204
  } catch {
    return 400
  }
}

const server = createServer((request, response) => {
  readBody(request).then(
    (raw) => response.writeHead(handle(request.headers, raw)).end(),
    // The connection broke in the middle of the body: Multihub sends the callback again.
    () => response.destroy(),
  )
})
server.on('error', (error: NodeJS.ErrnoException) => {
  const is_port_in_use = error.code === 'EADDRINUSE'
  console.error(is_port_in_use ? `Port ${PORT} is in use: set PORT to another one.` : error.message)
  process.exit(1)
})
server.listen(Number(PORT), '127.0.0.1', () => console.log('listening', server.address()))
