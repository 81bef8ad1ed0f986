import { createHash } from 'node:crypto'
import { create } from '@bufbuild/protobuf'
import { LedgerAccount, LedgerEntryKind, LedgerEntrySchema } from '#gen/multihub/balances/v1/balance_pb.ts'
import { Environment } from '#gen/multihub/common/v1/environment_pb.ts'
import { DeliverySchema, DeliveryStatus } from '#gen/multihub/notifier/v1/delivery_pb.ts'
import { PaymentSchema, PaymentStatus } from '#gen/multihub/payments/v1/payment_pb.ts'
import { PAYMENT_EVENTS } from '#lib/contract/events.ts'
import {
  createHistory,
  type History,
  type PaymentRecord,
  recordKey,
} from '../../simulation/workload/history.ts'
import type { SimulatedMerchant } from '../../simulation/workload/merchants.ts'
import type { Facts } from './evidence.ts'

/** Facts that a test may change. */
export type ChangeableFacts = {
  -readonly [K in keyof Facts]: Facts[K] extends readonly (infer T)[] ? T[] : Facts[K]
}

const MERCHANT_ID = '7'
const AMOUNT = 12_000
const ENDPOINT_SECRET = 'endpoint secret'
const ENDPOINT = {
  endpoint_id: 'e1',
  origin: 'http://127.0.0.1:1/r0',
  secrets: [ENDPOINT_SECRET],
  has_unknown_secret: false,
  may_be_closed: false,
  max_retries: 2,
  events: PAYMENT_EVENTS,
}

const MERCHANT: SimulatedMerchant = {
  merchant_id: MERCHANT_ID,
  environment: Environment.TEST,
  credentials: [{ application_id: 1, api_version: 'v1', secret: 'api secret', secrets: ['api secret'] }],
  routes: [],
  withdrawal_routes: [],
  endpoints: [ENDPOINT],
  access_codes: new Set(),
}

/** The deposit of `c1` in the books of the provider. */
const OPERATION: Facts['operations'][number] = {
  kind: 'deposit',
  account_id: 'sandbox',
  idempotency_key: 'p1:1',
  provider_id: 'o1',
  amount: AMOUNT,
  currency: 'INR',
  method: 'upi',
  callback_url: '',
  created_ms: 0,
  expires_ms: 0,
  status: 'success',
  is_success_acknowledged: true,
}

/** The record of the payment `c1`, which succeeded. */
export function recordOfPayment(history: History, c_id = 'c1'): PaymentRecord {
  const record = history.payments.get(recordKey(MERCHANT_ID, c_id))
  if (record === undefined) throw new TypeError(`the fixture has no ${c_id}`)
  return record
}

/** What clients know of `c1` and `c2`, and of the hold. */
function historyOfPayments(): History {
  const history = createHistory()
  const common = {
    merchant_id: MERCHANT_ID,
    service_id: 1,
    currency: 'INR',
    webhook_origin: undefined,
    direction: 'in' as const,
    open_creates: 0,
    creates: 1,
    clients: 0,
  }
  const paid = { ...common, c_id: 'c1', amount: AMOUNT, h_id: 'h1', is_accepted: true, created_responses: 1 }
  const refused = {
    ...common,
    c_id: 'c2',
    amount: 5,
    is_accepted: false,
    refused_code: 6001,
    created_responses: 0,
  }
  history.payments.set(recordKey(MERCHANT_ID, 'c1'), { ...paid, statuses: ['processing', 'success'] })
  history.payments.set(recordKey(MERCHANT_ID, 'c2'), { ...refused, statuses: [] })
  history.outcomes.set('hold-1', 'recorded 0')
  return history
}

/** Facts in which nothing is wrong: `c1` succeeded, `c2` was refused, and a hold was placed. */
export function soundFacts(): ChangeableFacts {
  const history = historyOfPayments()
  const amount = { minor: BigInt(AMOUNT), currency: 'INR' }
  const ledger = { merchantId: MERCHANT_ID, amount, shard: 3 }
  const entries = [
    create(LedgerEntrySchema, {
      ...ledger,
      entryId: 'p1:credit',
      paymentId: 'p1',
      sequence: 1n,
      availableAfter: amount.minor,
      kind: LedgerEntryKind.TRANSFER,
      debit: LedgerAccount.CLEARING,
      credit: LedgerAccount.AVAILABLE,
    }),
    create(LedgerEntrySchema, {
      ...ledger,
      entryId: 'hold-1',
      sequence: 2n,
      heldAfter: amount.minor,
      kind: LedgerEntryKind.HOLD,
      debit: LedgerAccount.AVAILABLE,
      credit: LedgerAccount.HELD,
    }),
  ]
  const { CREATED, PROCESSING, SUCCESS } = PaymentStatus
  const payment = create(PaymentSchema, {
    paymentId: 'p1',
    hId: 'h1',
    cId: 'c1',
    merchantId: MERCHANT_ID,
    amount,
    status: SUCCESS,
    history: [CREATED, PROCESSING, SUCCESS].map((status) => ({ status })),
  })
  const events = [
    { number: 1, status: 'created', event: 'payment.created' },
    { number: 3, status: 'success', event: 'payment.completed' },
  ]
  return {
    payments: [payment],
    stuck: [],
    refunds: [],
    refusals: [],
    anomalies: [],
    entries,
    history,
    merchants: [MERCHANT],
    deliveries: events.map(({ number, status, event }) =>
      create(DeliverySchema, {
        deliveryId: `d${number}`,
        merchantId: MERCHANT_ID,
        event,
        eventKey: `p1:${status}`,
        paymentId: 'p1',
        endpointId: ENDPOINT.endpoint_id,
        url: `${ENDPOINT.origin}/callbacks`,
        status: DeliveryStatus.DELIVERED,
        attempts: [{ number: 1, httpStatus: 200 }],
      }),
    ),
    callbacks: events.map(({ number, event }) => callbackOf(`d${number}`, `h1:${event}`)),
    operations: [OPERATION],
  }
}

/** A signed callback that its receiver acknowledged. */
export function callbackOf(delivery_id: string, id: string, answered = 200): Facts['callbacks'][number] {
  const body = JSON.stringify({ id, merchant_id: MERCHANT_ID })
  const hash = createHash('sha512').update(body).update(ENDPOINT_SECRET).digest('hex')
  const headers = { 'x-webhook-id': delivery_id, 'x-data-hash': hash }
  return { origin: ENDPOINT.origin, at_ms: 0, headers, body, answered }
}
