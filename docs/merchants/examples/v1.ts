// Sends a v1 request and prints the response if its signature is right (Node.js 24):
// node v1.ts '{"method":"gateway.ping","params":{}}'
import { hash } from 'node:crypto'

const { BASE_URL, APPLICATION_ID, SECRET } = process.env
const body = process.argv[2]
if (!BASE_URL || !APPLICATION_ID || !SECRET || !body) {
  console.error('Set BASE_URL, APPLICATION_ID and SECRET, and give the JSON body as the argument.')
  process.exit(1)
}
const sign = (bytes: Uint8Array): string => hash('sha512', Buffer.concat([bytes, Buffer.from(SECRET)]), 'hex')

const response = await fetch(`${BASE_URL}/public/api/multihub/v1`, {
  method: 'POST',
  headers: {
    'Content-Type': 'application/json',
    'X-Data-Application-Id': APPLICATION_ID,
    'X-Data-Hash': sign(Buffer.from(body)),
  },
  body,
})
const response_body = Buffer.from(await response.arrayBuffer())
if (response.headers.get('X-Data-Hash') !== sign(response_body)) {
  console.error(`HTTP ${response.status}: the response is not signed with this secret`)
  process.exit(1)
}
console.log(response_body.toString())
