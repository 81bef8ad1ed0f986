/**
 * A merchant's receiver for trying things out: prints every callback that arrives at http://127.0.0.1:8099/ (or at
 * another PORT) and takes those whose V3 signature verifies with the secret of a payment's own webhook_url. Whatever
 * else arrives gets a line that says what is wrong with it. With an argument it keeps the last callback, verified or
 * not, as docs/merchants/examples/verify-callback.sh takes it: node scripts/receiver.mjs NAME makes NAME.headers, a
 * line with the four headers in the order of that program's arguments, and NAME.body, the bytes of the body.
 */
import { createHmac, timingSafeEqual } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { fail, readDemo } from './read-demo.mjs'

const { PORT = '8099' } = process.env
const [, , kept_name] = process.argv
/** No callback is larger. */
const BODY_MAX_BYTES = 256 * 1024

if (!/^\d{1,5}$/.test(PORT) || Number(PORT) > 65_535) fail(`PORT is a number up to 65535, and not "${PORT}".`)
const secrets = readDemo().merchants.flatMap(({ credentials }) =>
  credentials.map(({ secret }) =>
    createHmac('sha256', secret).update('service:merchant-webhook-signing:v1').digest('hex'),
  ),
)

/** What verifies a body: timestamp, nonce, id and signature V3; empty where a header is missing. */
function proofOf(headers) {
  return ['timestamp', 'nonce', 'id', 'signature-v3'].map((name) => headers[`x-webhook-${name}`] ?? '')
}

function verifies(headers, raw) {
  const [timestamp, nonce, id, signature] = proofOf(headers)
  const given = Buffer.from(signature)
  return secrets.some((secret) => {
    const hmac = createHmac('sha512', secret).update(`${timestamp}.${nonce}.${id}.`).update(raw).digest('hex')
    return given.length === hmac.length && timingSafeEqual(given, Buffer.from(hmac))
  })
}

function keep(proof, raw) {
  writeFileSync(`${kept_name}.body`, raw, { mode: 0o600 })
  writeFileSync(`${kept_name}.headers`, `${proof.join(' ')}\n`, { mode: 0o600 })
}

/** Nothing of an earlier run may pass for the last callback, and what cannot be written is told at once. */
function keepNone() {
  try {
    keep([], '')
  } catch ({ message }) {
    fail(`The last callback cannot be kept: ${message}`)
  }
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
  const is_too_long = length > BODY_MAX_BYTES
  const raw = Buffer.concat(chunks)
  const proof = proofOf(request.headers)
  if (kept_name !== undefined && !is_too_long && proof.every(Boolean)) keep(proof, raw)
  const [status, line] = is_too_long
    ? [413, 'refused: the body is larger than any callback']
    : judge(request.headers, raw)
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
    if (kept_name !== undefined) keepNone()
  })
