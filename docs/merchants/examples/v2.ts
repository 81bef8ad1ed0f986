// Sends a v2 request and prints the response if its signature is right (Node.js 24):
// node v2.ts '{"method":"gateway.ping","params":{}}'
import { createHmac, hash, randomBytes } from 'node:crypto'

const { BASE_URL, APPLICATION_ID, SECRET } = process.env
const PATH = '/public/api/multihub/v2'
const body = process.argv[2]
if (!BASE_URL || !APPLICATION_ID || !SECRET || !body) {
  console.error('Set BASE_URL, APPLICATION_ID and SECRET, and give the JSON body as the argument.')
  process.exit(1)
}
const sign = (...lines: readonly string[]): string =>
  createHmac('sha512', SECRET).update(lines.join('\n')).digest('hex')

const timestamp = String(Math.floor(Date.now() / 1000))
const nonce = randomBytes(16).toString('hex')
const body_hash = hash('sha256', body)
const response = await fetch(BASE_URL + PATH, {
  method: 'POST',
  headers: {
    'Content-Type': 'application/json',
    'X-Data-Application-Id': APPLICATION_ID,
    'X-Data-Timestamp': timestamp,
    'X-Data-Nonce': nonce,
    'X-Data-Signature': sign(
      'service-multihub-request-v2',
      APPLICATION_ID,
      'POST',
      PATH,
      timestamp,
      nonce,
      body_hash,
    ),
  },
  body,
})
const response_body = Buffer.from(await response.arrayBuffer())
const request_id = response.headers.get('X-Request-ID') ?? ''
const expected = sign(
  'service-multihub-response-v2',
  APPLICATION_ID,
  nonce,
  request_id,
  String(response.status),
  hash('sha256', response_body),
)
if (response.headers.get('X-Data-Signature') !== expected) {
  console.error(`HTTP ${response.status}: the response is not signed with this secret`)
  process.exit(1)
}
console.log(response_body.toString())
