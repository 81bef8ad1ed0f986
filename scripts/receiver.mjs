/**
 * A merchant's receiver for trying things out: prints every callback that arrives at http://127.0.0.1:8099/ and whether
 * its V3 signature verifies with the secret that belongs to a payment's own webhook_url.
 */
import { createHmac, timingSafeEqual } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { join } from 'node:path'

const PORT = Number(process.env.PORT ?? 8099)
const demo = JSON.parse(readFileSync(join(process.env.MULTIHUB_HOME ?? '.local', 'demo.json'), 'utf8'))
const secrets = demo.merchants.flatMap(({ credentials }) =>
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

createServer(async (request, response) => {
  const chunks = []
  for await (const chunk of request) chunks.push(chunk)
  response.writeHead(200).end()
  const raw = Buffer.concat(chunks)
  const { id, data } = JSON.parse(raw.toString())
  const { status, amount } = data.result.payment
  const signature = verifies(request.headers, raw) ? 'signature V3 verified' : 'SIGNATURE DOES NOT VERIFY'
  console.log(`${id}  ${status.status}  ${amount.value} ${amount.currency}  ${signature}`)
}).listen(PORT, '127.0.0.1', () => console.log(`callbacks are taken at http://127.0.0.1:${PORT}/`))
