import { createHash, createHmac, randomBytes, randomUUID } from 'node:crypto'
import { Agent } from 'undici'
import { callbackBody, toPublicResource } from '../../services/notifier/domain/callback-body.ts'
import { paymentEvent } from '../../services/notifier/event.fixture.ts'

const SECRET = 'ab'.repeat(32)
const agent = new Agent({ connections: 64 })

const event = paymentEvent()
const metadata = { created_at: new Date(), request_id: randomUUID(), processing_time: 1 }
const template = Buffer.from(callbackBody(event, toPublicResource(event), metadata)).toString()
const template_c_id = /"c_id":"([^"]*)"/.exec(template)?.[1] ?? ''

const sha512 = (text: string): string => createHash('sha512').update(text).digest('hex')

/** Signs the callback of a payment with the three signatures and posts it. Throws unless the receiver accepts it. */
export async function postCallback({ origin, pathname }: URL, c_id: string): Promise<void> {
  const body = template.replace(template_c_id, c_id)
  const headers = sign(body)
  const { statusCode, body: response } = await agent.request({
    origin,
    path: pathname,
    method: 'POST',
    headers,
    body,
  })
  await response.dump()
  if (statusCode !== 204) throw new Error(`HTTP ${statusCode}`)
}

function sign(body: string): Record<string, string> {
  const timestamp = new Date().toISOString()
  const nonce = randomBytes(16).toString('hex')
  const id = randomUUID()
  const v3 = createHmac('sha512', SECRET).update(`${timestamp}.${nonce}.${id}.${body}`).digest('hex')
  return {
    'content-type': 'application/json',
    'x-data-hash': sha512(body + SECRET),
    'x-webhook-id': id,
    'x-webhook-timestamp': timestamp,
    'x-webhook-nonce': nonce,
    'x-webhook-signature-v2': sha512(timestamp + body + SECRET),
    'x-webhook-signature-v3': v3,
  }
}
