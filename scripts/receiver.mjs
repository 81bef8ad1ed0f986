/**
 * A merchant's receiver for trying things out: prints every callback that arrives at http://127.0.0.1:8099/ (or at
 * another PORT) and takes those whose V3 signature verifies with the secret of a payment's own webhook_url. Whatever
 * else arrives gets a line that says what is wrong with it.
 */
import { createHmac, timingSafeEqual } from 'node:crypto'
import { createServer } from 'node:http'
import { fail, readDemo } from './read-demo.mjs'

const { PORT = '8099' } = process.env
/** No callback is larger. */
const BODY_MAX_BYTES = 256 * 1024

if (!/^\d{1,5}$/.test(PORT) || Number(PORT) > 65_535) fail(`PORT is a number up to 65535, and not "${PORT}".`)
const secrets = readDemo().merchants.flatMap(({ credentials }) =>
  credentials.map(({ secret }) =>
    createHmac('sha256', secret).update('service:merchant-webhook-signing:v1').digest('hex'),
  ),
)

function verifies(headers, raw) {
  const [timestamp, nonce, id] = ['timestamp', 'nonce', 'id'].map((name) => headers[`x-webhook-${name}`])
  const given = Buffer.from(headers['x-webhook-signature-v3'] ?? '')
  return secrets.some((secret) => {
    const hmac = createHmac('sha512', secret).update(`${timestamp}.${nonce}.${id}.`).update(raw).digest('hex')
    return given.length === hmac.length && timingSafeEqual(given, Buffer.from(hmac))
  })
}

/** The HTTP status for what came, and the line about it. */
function judge(headers, raw) {
  let callback
  try {
    callback = JSON.parse(raw.toString())
  } catch {
    return [400, 'refused: the body is no JSON']
  }
  if (!verifies(headers, raw)) return [401, 'refused: signature V3 does not verify']
  const { id, data } = callback
  const { status, amount } = data.result.payment
  return [200, `${id}  ${status.status}  ${amount.value} ${amount.currency}  signature V3 verified`]
}

async function receive(request, response) {
  const chunks = []
  let length = 0
  for await (const chunk of request) {
    length += chunk.length
    if (length <= BODY_MAX_BYTES) chunks.push(chunk)
  }
  const [status, line] =
    length > BODY_MAX_BYTES
      ? [413, 'refused: the body is larger than any callback']
      : judge(request.headers, Buffer.concat(chunks))
  response.writeHead(status).end()
  console.log(line)
}

createServer((request, response) => {
  receive(request, response).catch(({ message }) => {
    response.destroy()
    console.log(`broken off: ${message}`)
  })
})
  .on('error', ({ code, message }) => {
    fail(code === 'EADDRINUSE' ? `Port ${PORT} is taken: set PORT to another one.` : message)
  })
  .listen(Number(PORT), '127.0.0.1', function () {
    console.log(`callbacks are taken at http://127.0.0.1:${this.address().port}/`)
  })
