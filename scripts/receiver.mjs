/**
 * A merchant's receiver for trying out callbacks. It listens at http://127.0.0.1:8099/ (or on another PORT), prints every
 * callback that it receives, and accepts those whose V3 signature matches the secret of a payment's own webhook_url. For
 * everything else it prints why it was refused. With an argument it also saves the last callback, verified or not, for
 * docs/merchants/examples/verify-callback.sh: `node scripts/receiver.mjs NAME` writes NAME.headers, one line with the
 * four headers in the order of that program's arguments, and NAME.body, the bytes of the body.
 */
import { createHmac, timingSafeEqual } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { fail, readDemo } from './read-demo.mjs'

const { PORT = '8099' } = process.env
const [, , file_name] = process.argv
/** The largest callback body. */
const BODY_MAX_BYTES = 256 * 1024

if (!/^\d{1,5}$/.test(PORT) || Number(PORT) > 65_535)
  fail(`PORT must be a number up to 65535; it is "${PORT}".`)
const secrets = readDemo().merchants.flatMap(({ credentials }) =>
  credentials.map(({ secret }) =>
    createHmac('sha256', secret).update('service:merchant-webhook-signing:v1').digest('hex'),
  ),
)

/** The headers that verify a body: timestamp, nonce, id and signature V3; empty where a header is missing. */
function signatureHeaders(headers) {
  return ['timestamp', 'nonce', 'id', 'signature-v3'].map((name) => headers[`x-webhook-${name}`] ?? '')
}

function isAuthentic(headers, raw) {
  const [timestamp, nonce, id, signature] = signatureHeaders(headers)
  const received = Buffer.from(signature)
  return secrets.some((secret) => {
    const hmac = createHmac('sha512', secret).update(`${timestamp}.${nonce}.${id}.`).update(raw).digest('hex')
    return received.length === hmac.length && timingSafeEqual(received, Buffer.from(hmac))
  })
}

function save(headers, raw) {
  writeFileSync(`${file_name}.body`, raw, { mode: 0o600 })
  writeFileSync(`${file_name}.headers`, `${headers.join(' ')}\n`, { mode: 0o600 })
}

/** Empties the files of an earlier run, so that they are not mistaken for the last callback; fails if it cannot. */
function clearFiles() {
  try {
    save([], '')
  } catch ({ message }) {
    fail(`The last callback cannot be saved: ${message}`)
  }
}

/** The HTTP status of the response, and the line to print. Parses nothing that is not signed. */
function check(headers, raw) {
  if (!isAuthentic(headers, raw)) return [401, 'refused: signature V3 does not verify']
  try {
    const { id, data } = JSON.parse(raw.toString())
    const { status, amount } = data.result.payment
    return [200, `${id}  ${status.status}  ${amount.value} ${amount.currency}  signature V3 verified`]
  } catch {
    return [400, 'refused: the body is not a callback']
  }
}

async function receive(request, response) {
  const chunks = []
  let length = 0
  for await (const chunk of request) {
    length += chunk.length
    if (length <= BODY_MAX_BYTES) chunks.push(chunk)
  }
  const is_too_large = length > BODY_MAX_BYTES
  const raw = Buffer.concat(chunks)
  const headers = signatureHeaders(request.headers)
  if (file_name !== undefined && !is_too_large && headers.every(Boolean)) save(headers, raw)
  const [status, line] = is_too_large
    ? [413, 'refused: the body is larger than any callback']
    : check(request.headers, raw)
  response.writeHead(status).end()
  console.log(line)
}

createServer((request, response) => {
  receive(request, response).catch(({ message }) => {
    response.destroy()
    console.log(`request failed: ${message}`)
  })
})
  .on('error', ({ code, message }) => {
    fail(code === 'EADDRINUSE' ? `Port ${PORT} is in use: set PORT to another one.` : message)
  })
  .listen(Number(PORT), '127.0.0.1', function () {
    console.log(`receiving callbacks at http://127.0.0.1:${this.address().port}/`)
    if (file_name !== undefined) clearFiles()
  })
