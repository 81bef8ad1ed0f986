import { createHash, randomUUID } from 'node:crypto'
import { AttachmentService } from '#gen/multihub/attachments/v1/attachment_service_pb.ts'
import { BalanceService } from '#gen/multihub/balances/v1/balance_service_pb.ts'
import { Environment } from '#gen/multihub/common/v1/environment_pb.ts'
import { EndpointService } from '#gen/multihub/merchants/v1/endpoint_service_pb.ts'
import { DeliveryService } from '#gen/multihub/notifier/v1/delivery_service_pb.ts'
import { PaymentStatus } from '#gen/multihub/payments/v1/payment_pb.ts'
import { PaymentService } from '#gen/multihub/payments/v1/payment_service_pb.ts'
import { ChargebackService } from '#gen/multihub/support/v1/chargeback_service_pb.ts'
import { DOOR_VARIABLES, doorOf, type TestDoor } from '../../services/backoffice/backoffice.fixture.ts'
import { role as backoffice } from '../../services/backoffice/service.ts'
import { openSealedStore } from '../../services/payments/store/payments-store.ts'
import { eventually } from '../support/eventually.ts'
import { type SupportClient, type SupportSystem, startSupport } from './support.fixture.ts'

/** The person of the deposit. */
export const PERSON = { email: 'Zelda.Quixworth@planted.example.org', phone: '+91 98123-45670' }

/** All roles with the back office. */
export interface SearchSystem extends AsyncDisposable {
  readonly system: SupportSystem
  readonly door: TestDoor
  /** Searches as JSON. Throws unless the answer is a 200. */
  search(token: string, text: string, more?: object): Promise<SearchAnswer>
}

/** An answer as JSON. */
interface SearchAnswer {
  readonly references: readonly FoundReference[]
  readonly unavailable: readonly string[]
  readonly nextPageToken: string
}

/** A reference as JSON. */
export interface FoundReference {
  readonly kind: string
  readonly id: string
  readonly merchantId: string
  readonly title: string
  readonly time: string
}

/** The name of the RPC. */
export const SEARCH = 'multihub.backoffice.v1.SearchService/Search'

/** Starts all roles with the back office. */
export async function startSearch(): Promise<SearchSystem> {
  const system = await startSupport(undefined, DOOR_VARIABLES, [backoffice])
  const door = doorOf(system.roles)
  return {
    system,
    door,
    async search(token, text, more = {}) {
      const { status, body } = await door.call(token, SEARCH, { text, ...more })
      if (status !== 200) throw new Error(`the search was refused: ${JSON.stringify(body)}`)
      return { references: [], unavailable: [], nextPageToken: '', ...body }
    },
    [Symbol.asyncDispose]: () => system[Symbol.asyncDispose](),
  }
}

/** Makes one thing of each kind for a merchant. Returns all of their identifiers, by a name for each. */
export async function makeOfEachKind(
  system: SupportSystem,
  shop: SupportClient,
): Promise<ReadonlyMap<string, { readonly text: string; readonly found: readonly [string, string] }>> {
  const { operator } = system
  const owner = { merchantId: shop.merchant_id, environment: Environment.TEST }
  await operator(EndpointService).createEndpoint({
    ...owner,
    url: 'http://127.0.0.1:1024/',
    events: ['payment.created'],
  })
  const c_id = `order ${randomUUID()}`
  const params = {
    payment: { identifiers: { c_id }, amount: { value: 1_000_908, currency: 'INR' }, payer: PERSON },
  }
  const created = await shop.sendBody({ method: 'payment.in', service_id: shop.service_id, params })
  const { h_id } = created.body.result.payment.identifiers
  const payment = await eventually(
    async () => (await operator(PaymentService).getPayment({ paymentId: h_id })).payment,
    (found) => found?.status === PaymentStatus.SUCCESS && found.utr !== '',
  )
  const paymentId = payment?.paymentId ?? ''
  const entry = await eventually(
    async () => (await operator(BalanceService).listEntries({ ...owner, paymentId })).entries[0],
    (found) => found !== undefined,
  )
  const refund = await shop.call('refund.request', {
    identifiers: { c_id: `refund of ${c_id}` },
    payment: { c_id },
  })
  const ticket = await shop.call('ticket.create', {
    identifiers: { c_id: `ticket of ${c_id}` },
    category: 'question',
    title: 'From Zelda',
    description: 'Zelda asks.',
  })
  const { chargeback } = await operator(ChargebackService).openChargeback({
    paymentId,
    amount: { minor: 5n, currency: 'INR' },
    reasonCode: '10.4',
    operationId: randomUUID(),
  })
  const delivery = await eventually(
    async () =>
      (await operator(DeliveryService).listDeliveries({ merchantId: shop.merchant_id })).deliveries[0],
    (found) => found !== undefined,
  )
  const attachment_id = await makeAttachment(system, shop)
  const anomaly_id = await makeAnomaly(system, shop)
  const refund_ids = refund.body.result.identifiers
  const ticket_ids = ticket.body.result.identifiers
  const of = (kind: string, id = '', text = id) => ({ text, found: [kind, id] as const })
  return new Map([
    ['payment_id', of('payment', paymentId)],
    ['c_id', of('payment', paymentId, c_id)],
    ['h_id', of('payment', paymentId, h_id)],
    ['p_id', of('payment', paymentId, payment?.pId)],
    ['UTR', of('payment', paymentId, payment?.utr)],
    ['request id', of('payment', paymentId, created.body.request_id)],
    ['refund_id', of('refund', refund_ids.h_id)],
    ['c_id of the refund', of('refund', refund_ids.h_id, refund_ids.c_id)],
    ['chargeback_id', of('chargeback', chargeback?.chargebackId)],
    ['ticket_id', of('ticket', ticket_ids.h_id)],
    ['c_id of the ticket', of('ticket', ticket_ids.h_id, ticket_ids.c_id)],
    ['entry_id', of('ledger_entry', entry?.entryId)],
    ['delivery_id', of('delivery', delivery?.deliveryId)],
    ['attachment_id', of('attachment', attachment_id)],
    ['anomaly_id', of('anomaly', anomaly_id)],
    ['application_id', of('application', shop.application_id)],
    ['merchant_id', of('merchant', shop.merchant_id)],
  ])
}

async function makeAttachment({ operator }: SupportSystem, { merchant_id }: SupportClient): Promise<string> {
  const content = Buffer.from('a letter of the bank\n')
  const { attachment } = await operator(AttachmentService).prepareEvidence({
    merchantId: merchant_id,
    environment: Environment.TEST,
    file: {
      name: 'Zelda.txt',
      mimeType: 'text/plain',
      sizeBytes: BigInt(content.length),
      sha256: createHash('sha256').update(content).digest('hex'),
    },
    operationId: randomUUID(),
  })
  return attachment?.attachmentId ?? ''
}

async function makeAnomaly({ roles }: SupportSystem, { merchant_id }: SupportClient): Promise<string> {
  const anomaly_id = randomUUID()
  const { anomalies } = await openSealedStore(roles.storeOf('payments'))
  await anomalies.insert({
    anomaly_id,
    merchant_id,
    environment: 'test',
    payment_id: randomUUID(),
    kind: 'open_too_long',
    description: '',
    created_at: new Date(),
  })
  return anomaly_id
}
