import { createHash, randomUUID } from 'node:crypto'
import { AttachmentStatus } from '#gen/multihub/attachments/v1/attachment_pb.ts'
import { AttachmentService } from '#gen/multihub/attachments/v1/attachment_service_pb.ts'
import { PrincipalKind } from '#gen/multihub/backoffice/v1/principal_pb.ts'
import { PrincipalService } from '#gen/multihub/backoffice/v1/principal_service_pb.ts'
import { Environment } from '#gen/multihub/common/v1/environment_pb.ts'
import { EndpointService } from '#gen/multihub/merchants/v1/endpoint_service_pb.ts'
import { DeliveryStatus } from '#gen/multihub/notifier/v1/delivery_pb.ts'
import { DeliveryService } from '#gen/multihub/notifier/v1/delivery_service_pb.ts'
import { DestinationState } from '#gen/multihub/notifier/v1/destination_pb.ts'
import { ChargebackService } from '#gen/multihub/support/v1/chargeback_service_pb.ts'
import { TicketStatus } from '#gen/multihub/support/v1/ticket_pb.ts'
import { TicketService } from '#gen/multihub/support/v1/ticket_service_pb.ts'
import type { Effect, EffectDocument } from '#lib/patterns/effects/effect.ts'
import type { CollectionSpec } from '#lib/store/store.ts'
import { role as backoffice } from '../../services/backoffice/service.ts'
import type { ShardStop } from '../../services/balances/domain/shard-stop.ts'
import { SHARD_STOPS } from '../../services/balances/store/shard-stops.ts'
import type { Anomaly } from '../../services/payments/domain/anomaly.ts'
import { ANOMALIES } from '../../services/payments/store/anomalies.ts'
import { PAYMENTS } from '../../services/payments/store/payments.ts'
import { TICKETS } from '../../services/support/tickets/store/tickets.ts'
import { eventually } from '../support/eventually.ts'
import { transfer } from './attachments.fixture.ts'
import { type SupportClient, type SupportSystem, startSupport } from './support.fixture.ts'

/** A word of a person's, which no entry of the audit trail may have. */
export const PLANTED = 'Zeldaplanted'

/** A system with a merchant, and functions that make something on which the operator can act. Each answers its id. */
export type ActsWorld = Awaited<ReturnType<typeof startActsWorld>>

/** Starts all roles with the back office. */
export async function startActsWorld() {
  const system = await startSupport(undefined, { MULTIHUB_BACKOFFICE_PORT: '0' }, [backoffice])
  const shop = await system.newMerchant()
  const scope = { merchantId: shop.merchant_id, environment: Environment.TEST }
  return {
    system,
    merchant_id: shop.merchant_id,
    service_id: String(shop.service_id),
    scope: { merchantId: shop.merchant_id, environment: 'ENVIRONMENT_TEST' },
    newPrincipal: (rights: readonly string[]) => newPrincipal(system, rights),
    credential: () => system.newCredential(shop),
    payment: () => paidDeposit(system, shop),
    async chargeback() {
      const { payment_id: paymentId } = await paidDeposit(system, shop)
      const amount = { minor: 5n, currency: 'INR' }
      const opened = await system
        .operator(ChargebackService)
        .openChargeback({ paymentId, amount, reasonCode: '10.4', operationId: randomUUID() })
      return opened.chargeback?.chargebackId ?? ''
    },
    async refund() {
      const { c_id } = await paidDeposit(system, shop)
      const fields = {
        identifiers: { c_id: randomUUID() },
        payment: { c_id },
        reason: PLANTED,
        amount: '100',
      }
      const { body } = await shop.call('refund.request', fields)
      return String(body.result.identifiers.h_id)
    },
    ticket: () => newTicket(shop),
    async closedTicket() {
      const ticketId = await newTicket(shop)
      await system.operator(TicketService).moveTicket({ ticketId, status: TicketStatus.CLOSED })
      await effectsEnded(system, 'support', TICKETS, ticketId)
      return ticketId
    },
    endpoint: () => newEndpoint(system, scope),
    async deadDelivery() {
      const endpointId = await newEndpoint(system, scope)
      const deliveries = system.operator(DeliveryService)
      await deliveries.sendTestEvent({ endpointId })
      const find = async () =>
        (await deliveries.listDeliveries({ ...scope, endpointId })).deliveries.find(
          ({ status }) => status === DeliveryStatus.DEAD,
        )
      return (await eventually(find, (found) => found !== undefined))?.deliveryId ?? ''
    },
    async openDestination() {
      const endpointId = await newEndpoint(system, scope)
      const deliveries = system.operator(DeliveryService)
      for (let failure = 0; failure < 5; failure += 1) await deliveries.sendTestEvent({ endpointId })
      const find = async () =>
        (await deliveries.listDestinations({ state: DestinationState.OPEN })).destinations.find(
          (one) => one.endpointId === endpointId,
        )
      return (await eventually(find, (found) => found !== undefined))?.destinationKey ?? ''
    },
    uploadedFile: () => uploadedFile(system, scope),
    async readyFile() {
      const attachmentId = await uploadedFile(system, scope)
      const attachments = system.operator(AttachmentService)
      await attachments.finalizeEvidence({ ...scope, attachmentId, operationId: randomUUID() })
      await eventually(
        () => attachments.getAttachment({ ...scope, attachmentId }),
        (found) => found?.attachment?.status === AttachmentStatus.READY,
      )
      return attachmentId
    },
    ...defects(system, shop),
    [Symbol.asyncDispose]: () => system[Symbol.asyncDispose](),
  }
}

/** What has gone wrong, written into the stores. */
function defects(system: SupportSystem, shop: SupportClient) {
  return {
    async anomaly() {
      const { payment_id } = await paidDeposit(system, shop)
      const at = new Date()
      const anomaly: Anomaly = {
        merchant_id: shop.merchant_id,
        anomaly_id: randomUUID(),
        environment: 'test',
        payment_id,
        kind: 'amount_differs',
        description: 'made by a test',
        created_at: at,
        open_since: at,
      }
      await (await system.roles.storeOf('payments').collection<Anomaly>(ANOMALIES)).insert(anomaly)
      return anomaly.anomaly_id
    },
    /** Adds a stuck effect, which no process runs, to a payment or ticket. */
    async stuckPayment() {
      const { payment_id } = await paidDeposit(system, shop)
      await addStuckEffect(system, 'payments', PAYMENTS, payment_id)
      return payment_id
    },
    /** A stop of a shard that no merchant of the test has. */
    async stoppedShard() {
      const stops = await system.roles.storeOf('balances').collection<ShardStop>(SHARD_STOPS)
      const found_at = new Date()
      await stops.insert({
        shard: 255,
        seq: 2n,
        description: PLANTED,
        verification_id: 'v',
        found_at,
        stopped_since: found_at,
        operation_ids: [],
      })
      return { shard: 255, verificationId: 'v', sequence: '2' }
    },
    async stuckTicket() {
      const ticket_id = await newTicket(shop)
      await addStuckEffect(system, 'support', TICKETS, ticket_id)
      return ticket_id
    },
  }
}

async function newPrincipal(system: SupportSystem, rights: readonly string[]) {
  const { principal, token } = await system.operator(PrincipalService).createPrincipal({
    name: 'somebody',
    kind: PrincipalKind.PERSON,
    rights: [...rights],
    operationId: randomUUID(),
  })
  return { id: principal?.principalId ?? '', token }
}

async function newTicket(shop: SupportClient): Promise<string> {
  const { body } = await shop.call('ticket.create', {
    identifiers: { c_id: randomUUID() },
    title: `${PLANTED} did not pay`,
    description: `Ask ${PLANTED}`,
    category: 'other',
  })
  return String(body.result.identifiers.h_id)
}

async function paidDeposit(system: SupportSystem, shop: SupportClient) {
  const { c_id, h_id } = await shop.deposit()
  await eventually(
    () => shop.call('payment.status', { payment: { identifiers: { c_id } } }),
    (seen) => seen?.body.result.payment.status.final === true,
  )
  await effectsEnded(system, 'payments', PAYMENTS, h_id)
  return { c_id, payment_id: h_id }
}

async function effectsEnded(
  system: SupportSystem,
  role: string,
  spec: CollectionSpec,
  id: string,
): Promise<void> {
  const documents = await system.roles.storeOf(role).collection<EffectDocument>(spec)
  await eventually(
    async () => (await documents.find('by_id', { equals: [id] }, { limit: 1 }))[0],
    (found) => found?.effects.length === 0,
  )
}

async function newEndpoint(system: SupportSystem, scope: { merchantId: string; environment: Environment }) {
  const { endpoint } = await system.operator(EndpointService).createEndpoint({
    ...scope,
    url: `http://127.0.0.1:1025/${PLANTED}`,
    events: ['payment.completed'],
    maxRetries: 0,
  })
  return endpoint?.endpointId ?? ''
}

async function uploadedFile(system: SupportSystem, scope: { merchantId: string; environment: Environment }) {
  const content = Buffer.from(`a letter of ${PLANTED}\n`)
  const sha256 = createHash('sha256').update(content).digest('hex')
  const file = { name: `${PLANTED}.txt`, mimeType: 'text/plain', sizeBytes: BigInt(content.length), sha256 }
  const { attachment, upload } = await system
    .operator(AttachmentService)
    .prepareEvidence({ ...scope, file, operationId: randomUUID() })
  const url = `${system.roles.urls['base_url']}${upload?.path}`
  await transfer(url, { method: 'PUT', headers: { 'content-type': 'text/plain' }, content })
  return attachment?.attachmentId ?? ''
}

/** The id of the stuck effects. */
export const STUCK = 'stuck-effect'

async function addStuckEffect(
  system: SupportSystem,
  role: string,
  spec: CollectionSpec,
  id: string,
): Promise<void> {
  const documents = await system.roles.storeOf(role).collection<EffectDocument>(spec)
  const [found] = await documents.find('by_id', { equals: [id] }, { limit: 1 })
  if (found === undefined) throw new Error(`there is no ${id}`)
  const at = new Date()
  const effect: Effect = {
    id: STUCK,
    kind: 'unknown_to_this_release',
    lane: 'independent',
    data: {},
    tries: 3,
    due_at: at,
    stuck: true,
  }
  await documents.replace({ ...found, effects: [...found.effects, effect], stuck_at: at }, found.version)
}
