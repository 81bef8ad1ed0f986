import { fromBinary } from '@bufbuild/protobuf'
import { MerchantDetailsSchema } from '#gen/multihub/payments/v1/payment_pb.ts'
import type { Keys } from '#lib/base/crypto/keys.ts'
import type { PersonSealer } from '#lib/base/crypto/person-seal.ts'
import type { Effect } from '#lib/patterns/effects/effect.ts'
import { publishEventEffect } from '#lib/patterns/effects/publish-event.ts'
import { type PersonKeys, personSubjects } from '#lib/patterns/person-hashes.ts'
import { resealEvent, sealEvent } from '#lib/patterns/sealed-event.ts'
import { isStub } from '#lib/store/archive/archived-document.ts'
import type { DocumentCodec } from '#lib/store/coded-collection.ts'
import { testEndedAt } from '#lib/store/test-end.ts'
import { archivableSince, erasableSince, hasEnded } from '../domain/erase-payment.ts'
import type { Payment, StoredPayment } from '../domain/payment.ts'
import { personHashesIn, referencesOf } from '../domain/payment-references.ts'
import { openRefundOf } from '../domain/refund.ts'

/** The fields of a payment that identify a person (O11): stored as sealed bytes. */
const SEALED_FIELDS = ['details', 'beneficiary', 'instructions'] as const
type SealedField = (typeof SEALED_FIELDS)[number]

/** Where an earlier release kept the hashes of a person. They are read no more, and go with the next write. */
interface EarlierFields {
  readonly person_hashes?: readonly string[] | undefined
}

/** A payment as its collection has it. Its events are sealed too, and stay so until the notifier opens them. */
export type SealedPayment = StoredPayment extends infer D
  ? D extends StoredPayment
    ? Omit<D, SealedField> & { readonly [Field in SealedField]?: Uint8Array | undefined } & EarlierFields
    : never
  : never

/** What seals payments, and what makes the hashes by which they are found. */
export type PersonKeysOfPayments = Keys<'person' | 'search'>

function jsonBytes(value: object): Uint8Array {
  return Buffer.from(JSON.stringify(value))
}

function fromJsonBytes<T>(bytes: Uint8Array): T {
  // The codec itself has encoded it.
  return JSON.parse(Buffer.from(bytes).toString()) as T
}

function placeOf({ payment_id }: Pick<Payment, 'payment_id'>, field: SealedField): string {
  return `payment:${payment_id}:${field}`
}

/**
 * The form in which payments are stored: what identifies a person is sealed, with hashes by which the operator finds it. Domain
 * and use cases see it in clear. A value that was read, or written before, is not encrypted again: its bytes stay.
 */
export function paymentCodec({
  person,
  search,
}: PersonKeysOfPayments): DocumentCodec<StoredPayment, SealedPayment> {
  // With the place: a connector may give two payments the same object, and each needs bytes of its own.
  const sealed_by_value = new WeakMap<object, { readonly place: string; readonly sealed: Uint8Array }>()
  const value_by_sealed = new WeakMap<Uint8Array, object>()
  const remember = (value: object, place: string, sealed: Uint8Array): void => {
    sealed_by_value.set(value, { place, sealed })
    value_by_sealed.set(sealed, value)
  }
  function seal(payment: StoredPayment, field: SealedField): Uint8Array | undefined {
    const value = payment[field]
    // A late report must not bring back what was erased.
    if (value === undefined || payment.erased_at !== undefined) return undefined
    const place = placeOf(payment, field)
    const known = sealed_by_value.get(value)
    if (known?.place === place) return known.sealed
    const bytes = value instanceof Uint8Array ? value : jsonBytes(value)
    const sealed = person.seal(bytes, payment.merchant_id, place)
    remember(value, place, sealed)
    return sealed
  }
  function open<T extends object>(
    payment: SealedPayment,
    field: SealedField,
    decode: (bytes: Uint8Array) => T,
  ): T | undefined {
    const sealed = payment[field]
    if (sealed === undefined) return undefined
    // The cast holds: these bytes were sealed for this field, and are the value of no other one.
    const known = value_by_sealed.get(sealed) as T | undefined
    if (known !== undefined) return known
    const place = placeOf(payment, field)
    const value = decode(person.open(sealed, payment.merchant_id, place))
    remember(value, place, sealed)
    return value
  }
  return {
    encode(payment) {
      if (isStub(payment)) throw new TypeError(`the payment ${payment.payment_id} was read without its body`)
      return {
        ...payment,
        ids: referencesOf(payment, storedHashes(payment) ?? hashesOf(payment, search)),
        person_hashes: undefined,
        details: seal(payment, 'details'),
        beneficiary: seal(payment, 'beneficiary'),
        instructions: seal(payment, 'instructions'),
        erasable_since: erasableSince(payment),
        archivable_since: archivableSince(payment),
        test_ended_at: testEndedAt(payment, hasEnded(payment)),
        open_refund: openRefundOf(payment),
        effects: payment.effects.map((effect) =>
          withSealedEvent(effect, (message) => sealEvent(message, person)),
        ),
      }
    },
    decode: (sealed) => ({
      ...sealed,
      details: open(sealed, 'details', (bytes) => bytes),
      beneficiary: open(sealed, 'beneficiary', fromJsonBytes<NonNullable<Payment['beneficiary']>>),
      instructions: open(sealed, 'instructions', fromJsonBytes<NonNullable<Payment['instructions']>>),
    }),
  }
}

/**
 * The stored payment after `reseal` of what is sealed in it, with its hashes under the active key; the same payment when nothing
 * changes.
 */
export function resealPerson(
  payment: SealedPayment,
  reseal: Pick<PersonSealer, 'reseal'>,
  keys: PersonKeysOfPayments,
): SealedPayment {
  // It is erased, and its references are those of the whole payment.
  if (isStub(payment)) return payment
  const resealed = SEALED_FIELDS.flatMap((field) => {
    const sealed = payment[field]
    return sealed
      ? [[field, reseal.reseal(sealed, payment.merchant_id, placeOf(payment, field))] as const]
      : []
  })
  const effects = payment.effects.map((effect) =>
    withSealedEvent(effect, (message) => resealEvent(message, reseal)),
  )
  const hashes = payment.erased_at ? [] : hashesOf(paymentCodec(keys).decode(payment), keys.search)
  const ids = referencesOf(withoutPerson(payment), hashes)
  const is_same =
    resealed.every(([field, sealed]) => sealed === payment[field]) &&
    effects.every((effect, at) => effect === payment.effects[at]) &&
    ids.join() === payment.ids?.join()
  return is_same
    ? payment
    : { ...payment, ...Object.fromEntries(resealed), ids, person_hashes: undefined, effects }
}

/** A stored payment as far as it can be read without keys. */
export function withoutPerson(payment: SealedPayment): StoredPayment & SealedPayment {
  return { ...payment, details: undefined, beneficiary: undefined, instructions: undefined }
}

/** The hashes that a payment was stored with; none after an erasure. `undefined` when they are to be computed. */
function storedHashes({ ids = [], erased_at }: StoredPayment): readonly string[] | undefined {
  return erased_at === undefined ? personHashesIn(ids) : []
}

/** The hashes of a payer's or receiver's e-mail and phone, and of the account of a withdrawal. */
function hashesOf(
  { details, beneficiary }: Pick<Payment, 'details' | 'beneficiary'>,
  { sign }: PersonKeysOfPayments['search'],
): readonly string[] {
  const { payer, receiver } = fromBinary(MerchantDetailsSchema, details ?? new Uint8Array())
  const { email, phone } = payer ?? receiver ?? {}
  const keys: PersonKeys = { email, phone, account: beneficiary?.account_id }
  return personSubjects(keys).map((subject) => sign(subject))
}

function withSealedEvent(effect: Effect, change: (message: Uint8Array) => Uint8Array): Effect {
  const message = publishEventEffect.dataOf(effect)?.message
  if (message === undefined) return effect
  const changed = change(message)
  return changed === message ? effect : { ...effect, data: { ...effect.data, message: changed } }
}
