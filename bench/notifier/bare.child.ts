import { createHash, createHmac, randomBytes, randomUUID } from 'node:crypto'
import { Agent } from 'undici'
import { callbackBody, toPublicResource } from '../../services/notifier/domain/callback-body.ts'
import { paymentEvent } from '../../services/notifier/event.fixture.ts'
import { type EventLoad, measureUse, newReference, RECEIVERS_VARIABLE, runLoad } from './sender.ts'

/**
 * The smallest sender of callbacks: it signs a body with the three signatures and posts it. It stores nothing, so a crash
 * loses callbacks, and it tries once.
 */
const urls = (JSON.parse(process.env[RECEIVERS_VARIABLE] ?? '[]') as string[]).map((url) => new URL(url))
const SECRET = 'ab'.repeat(32)
const agent = new Agent({ connections: 64 })

const event = paymentEvent()
const metadata = { created_at: new Date(), request_id: randomUUID(), processing_time: 1 }
const template = Buffer.from(callbackBody(event, toPublicResource(event), metadata)).toString()
const c_id = /"c_id":"([^"]*)"/.exec(template)?.[1] ?? ''

const sha512 = (text: string): string => createHash('sha512').update(text).digest('hex')

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

const send = (load: EventLoad): Promise<void> =>
  runLoad(load, async (number, receiver) => {
    const { origin = '', pathname = '' } = urls[receiver % urls.length] ?? {}
    const body = template.replace(c_id, newReference(number))
    const { statusCode, body: response } = await agent.request({
      origin,
      path: pathname,
      method: 'POST',
      headers: sign(body),
      body,
    })
    await response.dump()
    if (statusCode !== 204) throw new Error(`HTTP ${statusCode}`)
  })

process.on('message', (load: EventLoad) => {
  void measureUse(() => send(load)).then((report) => process.send?.(report))
})
process.send?.('ready')
