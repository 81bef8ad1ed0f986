import { fromBinary, toBinary } from '@bufbuild/protobuf'
import { BinaryReader, BinaryWriter, WireType } from '@bufbuild/protobuf/wire'
import { type MerchantEvent, MerchantEventSchema } from '#gen/multihub/events/v1/event_pb.ts'
import type { PersonSealer } from '#lib/base/crypto/person-seal.ts'

const EVENT_KEY = MerchantEventSchema.field.eventKey.number
const MERCHANT_ID = MerchantEventSchema.field.merchantId.number
const SEALED_RESOURCE = MerchantEventSchema.field.sealedResource.number
/** The resource that identifies a person. What events say of refunds, chargebacks and tickets does not. */
const PAYMENT = 6

function placeOf(event_key: string): string {
  return `event:${event_key}`
}

/**
 * The encoded event with its payment sealed, so that no bus, effect or backup shows a person (O11). An event without one, or
 * with one that is sealed already, is returned as it is. The fields are not decoded, because every event of a payment is
 * sealed before it is stored.
 */
export function sealEvent(message: Uint8Array, { seal }: PersonSealer): Uint8Array {
  const reader = new BinaryReader(message)
  const head: Uint8Array[] = []
  const payment: Uint8Array[] = []
  let [event_key, merchant_id] = ['', '']
  while (reader.pos < reader.len) {
    const start = reader.pos
    const [field, wire_type] = reader.tag()
    if (field === EVENT_KEY) event_key = reader.string()
    else if (field === MERCHANT_ID) merchant_id = reader.string()
    else reader.skip(wire_type, field)
    const list = field === PAYMENT ? payment : head
    list.push(message.subarray(start, reader.pos))
  }
  if (payment.length === 0) return message
  const sealed = seal(Buffer.concat(payment), merchant_id, placeOf(event_key))
  const added = new BinaryWriter().tag(SEALED_RESOURCE, WireType.LengthDelimited).bytes(sealed).finish()
  return Buffer.concat([...head, added])
}

/** Decodes an event, with its resource opened. Throws when that was altered or sealed for another event or merchant. */
export function openEvent(message: Uint8Array, person: PersonSealer): MerchantEvent {
  return openResource(fromBinary(MerchantEventSchema, message), person)
}

/** The same event with its resource opened. Throws like `openEvent`. */
export function openResource(event: MerchantEvent, { open }: PersonSealer): MerchantEvent {
  const { sealedResource, merchantId, eventKey } = event
  if (sealedResource.length === 0) return event
  const { resource } = fromBinary(MerchantEventSchema, open(sealedResource, merchantId, placeOf(eventKey)))
  return { ...event, resource, sealedResource: new Uint8Array() }
}

/** The encoded event with its sealed resource after `reseal`: the same object if that is the same, or if nothing is sealed. */
export function resealEvent(message: Uint8Array, { reseal }: Pick<PersonSealer, 'reseal'>): Uint8Array {
  const event = fromBinary(MerchantEventSchema, message)
  const { sealedResource, merchantId, eventKey } = event
  if (sealedResource.length === 0) return message
  event.sealedResource = reseal(sealedResource, merchantId, placeOf(eventKey))
  return event.sealedResource === sealedResource ? message : toBinary(MerchantEventSchema, event)
}
