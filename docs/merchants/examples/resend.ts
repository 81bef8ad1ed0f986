// Requests the callback of a payment again, signed with timestamp and nonce (Node.js 24):
// node resend.ts PAYMENT_ID OPERATION_ID
import { hash, randomBytes } from 'node:crypto'

const { BASE_URL, APPLICATION_ID, SECRET } = process.env
const [, , payment_id, operation_id] = process.argv
if (!BASE_URL || !APPLICATION_ID || !SECRET || !payment_id || !operation_id) {
  console.error('Set BASE_URL, APPLICATION_ID and SECRET, and give PAYMENT_ID and OPERATION_ID.')
  process.exit(1)
}
const path = `/api/v1/payments/${payment_id}/webhook/resend`
const body = JSON.stringify({ payment_id, operation_id })

const timestamp = String(Math.floor(Date.now() / 1000))
const nonce = randomBytes(16).toString('hex')
const signed = ['service-merchant-webhook-resend-v1', 'POST', path, timestamp, nonce, '', body].join('\n')
const response = await fetch(BASE_URL + path, {
  method: 'POST',
  headers: {
    'Content-Type': 'application/json',
    'X-Data-Application-Id': APPLICATION_ID,
    'X-Data-Timestamp': timestamp,
    'X-Data-Nonce': nonce,
    'X-Data-Hash': hash('sha512', signed + SECRET),
  },
  body,
})
const response_body = Buffer.from(await response.arrayBuffer())
const expected = hash('sha512', Buffer.concat([response_body, Buffer.from(SECRET)]))
if (response.headers.get('X-Data-Hash') !== expected) {
  console.error(`HTTP ${response.status}: the response is not signed with this secret`)
  process.exit(1)
}
console.log(response_body.toString())
