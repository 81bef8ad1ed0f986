import { join } from 'node:path'
import { create, type DescMessage, fromBinary, type MessageInitShape, toBinary } from '@bufbuild/protobuf'
import { Environment } from '#gen/multihub/common/v1/environment_pb.ts'
import { MerchantEventSchema } from '#gen/multihub/events/v1/event_pb.ts'
import { Direction } from '#gen/multihub/merchants/v1/route_pb.ts'
import { type MerchantDetails, MerchantDetailsSchema } from '#gen/multihub/payments/v1/payment_pb.ts'
import {
  CreatePaymentRequestSchema,
  CreatePaymentResponseSchema,
} from '#gen/multihub/payments/v1/payment_service_pb.ts'
import { testKeys } from '#lib/base/crypto/keys.fixture.ts'
import { uuidv7 } from '#lib/base/ids.ts'
import { now } from '#lib/base/time.ts'
import { type Effect, withDueTimes } from '#lib/patterns/effects/effect.ts'
import { leaseDue } from '#lib/patterns/effects/leases.ts'
import { slotOf } from '#lib/patterns/effects/slots.ts'
import { openStore } from '#lib/store/open.ts'
import type { Stored } from '#lib/store/store.ts'
import { type Payment, requireAdmitted } from '../../services/payments/domain/payment.ts'
import {
  createAtProviderEffect,
  expirePaymentEffect,
} from '../../services/payments/domain/payment-effects.ts'
import { newEventEffect } from '../../services/payments/domain/payment-event.ts'
import { paymentToProto } from '../../services/payments/domain/payment-to-proto.ts'
import { transition } from '../../services/payments/domain/transition.ts'
import { newDeposit } from '../../services/payments/payment.fixture.ts'
import { openPaymentsStore } from '../../services/payments/store/payments-store.ts'
import { type RequestedDeposit, servePipeline } from './pipeline.ts'

const MERCHANT = { merchant_id: '7001', environment: 'test' } as const
const LEASE_MS = 5_000

const directory = join(process.env['BENCH_DIRECTORY'] ?? '', 'required-io')
const store = await openStore({ database: 'payments', directory })
const { payments } = await openPaymentsStore(store, testKeys())
const entries = await store.collection<{ merchant_id: string; payment_id: string; amount: bigint; at: Date }>(
  {
    name: 'entries',
    partition: ['merchant_id'],
    key: ['merchant_id', 'payment_id'],
    indexes: { by_time: { fields: ['merchant_id', 'at'] } },
  },
)

/**
 * The storage and the messages that the contract requires of a deposit, through our store and protos: guarded writes of
 * whole documents with their indexes, effects that are removed from the document after their execution, RPCs between
 * gateway and payments as bytes, one event per transition. It makes no decision, check, limit, retry or recovery.
 */
await servePipeline({
  async insertPayment(requested) {
    if (!('payer' in requested)) throw new TypeError('this pipeline takes deposits only')
    encodeAndDecode(CreatePaymentRequestSchema, createRequestOf(requested))
    return requireAdmitted(await payments.insert(withLeases(depositOf(requested))))
  },
  async storeResponse(stored: Stored<Payment>, _requested, { status }) {
    const pending = status === 'pending'
    const changed = transition(
      stored,
      pending ? 'processing' : 'error',
      pending ? { at: now() } : { at: now(), error_code: 6044 },
    )
    // The receipt of the first event has arrived by now, so its removal needs no write of its own.
    const published = stored.effects.filter(isEvent)
    const next = withLeases(without(changed, published))
    const replaced = requireAdmitted(await payments.replace(next, stored.version))
    encodeAndDecode(CreatePaymentResponseSchema, { payment: paymentToProto(replaced) })
    for (const event of published) receiveEvent(event)
    if (!pending) setImmediate(() => void publishEvents(replaced))
  },
  async storeCallback(c_id, { amount }, credited) {
    const found = await payments.get({ ...MERCHANT, c_id })
    if (found === undefined) throw new Error('the payment of a callback is missing')
    const stored = requireAdmitted(found)
    const succeeded = withLeases(transition(stored, 'success', { at: now() }))
    const replaced = requireAdmitted(await payments.replace(succeeded, stored.version))
    setImmediate(async () => {
      const { merchant_id, payment_id } = replaced
      await entries.insert({ merchant_id, payment_id, amount: BigInt(amount), at: now() })
      credited()
      const credits = replaced.effects.filter(({ lane }) => lane === 'money')
      const credited_payment = withLeases(without(replaced, credits))
      await publishEvents(requireAdmitted(await payments.replace(credited_payment, replaced.version)))
    })
  },
})

function createRequestOf(requested: RequestedDeposit): MessageInitShape<typeof CreatePaymentRequestSchema> {
  const { identifiers, amount } = requested
  return {
    merchantId: MERCHANT.merchant_id,
    environment: Environment.TEST,
    policy: {},
    serviceId: '501',
    direction: Direction.IN,
    cId: identifiers.c_id,
    amount: { minor: BigInt(amount.value), currency: amount.currency },
    details: detailsOf(requested),
  }
}

function detailsOf({ payer, description }: RequestedDeposit): MerchantDetails {
  const { email, phone, person } = payer
  return create(MerchantDetailsSchema, {
    description,
    payer: { email, phone, person: { firstName: person.first_name, lastName: person.last_name } },
  })
}

function depositOf(requested: RequestedDeposit): Payment {
  const { identifiers, amount } = requested
  const at = now()
  const expires_at = new Date(at.getTime() + 1_800_000)
  const payment_id = uuidv7()
  const minor = BigInt(amount.value)
  const deposit = newDeposit({
    ...MERCHANT,
    c_id: identifiers.c_id,
    payment_id,
    h_id: payment_id,
    ids: [payment_id],
    amount: minor,
    history: [{ status: 'created', at, amount: minor }],
    attempt: { number: 1, account_id: 'first', created_at: at },
    created_at: at,
    updated_at: at,
    expires_at,
    details: toBinary(MerchantDetailsSchema, detailsOf(requested)),
  })
  const effects = [
    createAtProviderEffect.newEffect(deposit, {}, { at }),
    expirePaymentEffect.newEffect(deposit, {}, { at, due_at: expires_at }),
    newEventEffect(deposit, 'payment.created', { at }),
  ]
  return { ...deposit, slot: slotOf({ c_id: deposit.c_id }), effects }
}

function withLeases(payment: Payment): Payment {
  const at = now()
  return withDueTimes(
    leaseDue(payment, at, '0123456789abcdef01234567', () => ({ lease_ms: LEASE_MS })),
    at,
  )
}

function without(payment: Payment, executed: readonly Effect[]): Payment {
  const ids = new Set(executed.map(({ id }) => id))
  return { ...payment, effects: payment.effects.filter(({ id }) => !ids.has(id)) }
}

function isEvent({ lane }: Effect): boolean {
  return lane === 'event'
}

/** Encodes and decodes a message, as a call between two roles does, also within one process. */
function encodeAndDecode<D extends DescMessage>(schema: D, message: MessageInitShape<D>): void {
  fromBinary(schema, toBinary(schema, create(schema, message)))
}

function receiveEvent({ data }: Effect): void {
  if (data['message'] instanceof Uint8Array) fromBinary(MerchantEventSchema, data['message'])
}

/** Delivers the events of a payment to their consumer, and then removes them from the payment. */
async function publishEvents(payment: Stored<Payment>): Promise<void> {
  const events = payment.effects.filter(isEvent)
  for (const event of events) receiveEvent(event)
  await payments.replace(withDueTimes(without(payment, events), now()), payment.version)
}
