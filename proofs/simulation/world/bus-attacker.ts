import { create, fromBinary, toBinary } from '@bufbuild/protobuf'
import { type MerchantEvent, MerchantEventSchema, ReceiptSchema } from '#gen/multihub/events/v1/event_pb.ts'
import { Direction } from '#gen/multihub/merchants/v1/route_pb.ts'
import { type Payment, PaymentSchema, PaymentStatus } from '#gen/multihub/payments/v1/payment_pb.ts'
import { createKeys, parseMasterKeys } from '#lib/base/crypto/keys.ts'
import { RECEIPT_SUBJECT_HEADER, signedHeaders } from '#lib/bus/authentication.ts'
import type { SeenMessage, SimulatedBus } from '../parts/bus.ts'
import type { Choices } from '../parts/random.ts'
import type { Trace } from '../parts/trace.ts'
import { MASTER_KEYS } from './master-keys.ts'

/** Keys like those of the system, of another master key. */
const OWN_KEYS = createKeys(
  { master_keys: parseMasterKeys(`own:${'c'.repeat(64)}`), derived_keys: new Map(), active_id: 'own' },
  ['event_payments', 'event_support', 'receipt'],
)

/** The key of the role support, which an attacker has that took its process over. */
const { event_support: SUPPORT_KEY } = createKeys(
  { master_keys: parseMasterKeys(MASTER_KEYS.old), derived_keys: new Map(), active_id: 'old' },
  ['event_support'],
)

/** The amount of every forged payment: no merchant asks for so little. */
const FORGED_AMOUNT = 1n

/**
 * Lets somebody who may read and publish everything on the bus, but has no key, attack it (O10). It confirms events that it sees,
 * so that their publishers forget them; it publishes other bodies under their keys and under those of the next statuses; and it
 * sends what it saw to subjects of its choice. Another one has the key of support, and signs events with the keys of payments.
 */
export function createBusAttacker(bus: SimulatedBus, choices: Choices, trace: Trace): void {
  const { send } = bus.attack((message) => {
    // Without an attack nothing is drawn, so that a seed has the history that it had before there was one.
    if (bus.faults.attacked === 0 || !message.subject.startsWith('events.')) return
    if (!choices.chance(bus.faults.attacked)) return
    const event = fromBinary(MerchantEventSchema, message.data)
    const attack = choices.pick([stealEvent, forgeEvent, forgeEvent, redirect, takeKey])
    const forged = attack(message, event, choices)
    trace.add(`the bus is attacked: ${attack.name} ${event.eventKey}`)
    send({ ...forged, headers: attack === takeKey ? forged.headers : signed(forged, choices) })
  })
}

/** No signature, one of the wrong key, or the one of the message that was seen. */
function signed({ subject, data, headers }: SeenMessage, choices: Choices): SeenMessage['headers'] {
  const signer = subject.startsWith('receipts.') ? OWN_KEYS.receipt : OWN_KEYS.event_payments
  const unsigned = { [RECEIPT_SUBJECT_HEADER]: headers[RECEIPT_SUBJECT_HEADER] ?? '' }
  return choices.pick([unsigned, signedHeaders(signer, subject, data, unsigned), headers])
}

/** A receipt for the event, and for the one that follows. */
function stealEvent({ headers }: SeenMessage, { eventKey }: MerchantEvent): SeenMessage {
  const [id] = eventKey.split(':')
  const eventKeys = [eventKey, `${id}:success`, `${id}:completed`]
  const data = toBinary(ReceiptSchema, create(ReceiptSchema, { eventKeys }))
  return { subject: headers[RECEIPT_SUBJECT_HEADER] ?? '', data, headers }
}

function forgedPayment(paymentId: string, { merchantId, createTime }: MerchantEvent): Payment {
  const [direction, status] = [Direction.IN, PaymentStatus.SUCCESS]
  const amount = { minor: FORGED_AMOUNT, currency: 'INR' }
  const history = [{ status, amount, ...(createTime && { createTime }) }]
  const times = createTime && { createTime, updateTime: createTime }
  return create(PaymentSchema, { paymentId, merchantId, amount, direction, status, history, ...times })
}

/** Another body under the key of the event, or under a key that its payment will use, or never will. */
function forgeEvent({ subject, headers }: SeenMessage, event: MerchantEvent, choices: Choices): SeenMessage {
  if (event.sealedResource.length > 0) {
    const [paymentId = ''] = event.eventKey.split(':')
    event.resource = { case: 'payment', value: forgedPayment(paymentId, event) }
    event.sealedResource = new Uint8Array()
    const next = choices.pick([undefined, ['success', 'payment.completed'], ['refunded', 'payment.refunded']])
    if (next !== undefined) {
      const [status = '', name = ''] = next
      event.eventKey = `${paymentId}:${status}`
      event.event = name
      return { subject: `events.${name}`, data: toBinary(MerchantEventSchema, event), headers }
    }
  }
  return { subject, data: toBinary(MerchantEventSchema, event), headers }
}

/** An event of support under the key that the success of the payment will have. The signature is valid. */
function takeKey({ headers }: SeenMessage, event: MerchantEvent): SeenMessage {
  const [paymentId = ''] = event.eventKey.split(':')
  const value = forgedPayment(paymentId, event)
  const taken: MerchantEvent = {
    ...event,
    event: 'ticket.created',
    eventKey: `${paymentId}:success`,
    resource: { case: 'payment', value },
    sealedResource: new Uint8Array(),
  }
  const subject = 'events.ticket.created'
  const data = toBinary(MerchantEventSchema, taken)
  return { subject, data, headers: signedHeaders(SUPPORT_KEY, subject, data, headers) }
}

/** The same event with a receipt for somebody else, or on the subject of another role. */
function redirect(
  { subject, data, headers }: SeenMessage,
  _event: MerchantEvent,
  choices: Choices,
): SeenMessage {
  if (choices.chance(0.5))
    return { subject, data, headers: { ...headers, [RECEIPT_SUBJECT_HEADER]: 'receipts.x' } }
  return { subject: 'events.ticket.created', data, headers }
}
