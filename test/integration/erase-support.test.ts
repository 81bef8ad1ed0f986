import { randomUUID } from 'node:crypto'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { AttachmentStatus } from '#gen/multihub/attachments/v1/attachment_pb.ts'
import { AttachmentService } from '#gen/multihub/attachments/v1/attachment_service_pb.ts'
import { Environment } from '#gen/multihub/common/v1/environment_pb.ts'
import { EndpointService } from '#gen/multihub/merchants/v1/endpoint_service_pb.ts'
import { PaymentErasureService } from '#gen/multihub/payments/v1/payment_erasure_service_pb.ts'
import { PaymentService } from '#gen/multihub/payments/v1/payment_service_pb.ts'
import { ChargebackService } from '#gen/multihub/support/v1/chargeback_service_pb.ts'
import { RefundService } from '#gen/multihub/support/v1/refund_service_pb.ts'
import { TicketStatus } from '#gen/multihub/support/v1/ticket_pb.ts'
import { TicketService } from '#gen/multihub/support/v1/ticket_service_pb.ts'
import { readLines } from '#lib/base/files.ts'
import { useClock } from '#lib/base/time.ts'
import { SUPPORT_EVENTS } from '#lib/contract/events.ts'
import { readErasures } from '#lib/patterns/erasures.ts'
import type { Delivery } from '../../services/notifier/domain/delivery.ts'
import { DELIVERIES } from '../../services/notifier/store/deliveries.ts'
import { createAdjustableClock } from '../support/adjustable-clock.ts'
import { eventually } from '../support/eventually.ts'
import { type Receiver, startReceiver } from '../support/receiver.ts'
import { type SupportClient, type SupportSystem, startSupport } from './support.fixture.ts'
import { createSupportOfPayment, type SupportOfPayment, ticketFile } from './support-of-payment.fixture.ts'

/** A word that occurs in every text of these tests. */
const PLANTED = 'Zeldaplanted'
const DAY_MS = 86_400_000

const clock = createAdjustableClock()
let restoreClock: () => void
let system: SupportSystem
let receiver: Receiver
let shop: SupportClient
let directory: string
beforeAll(async () => {
  // The walks that erase come once a minute: here they come at once.
  const after: typeof clock.after = (delay_ms, action) =>
    clock.after(delay_ms === 60_000 ? 50 : delay_ms, action)
  restoreClock = useClock({ ...clock, after })
  directory = await mkdtemp(join(tmpdir(), 'multihub-erase-support-'))
  receiver = await startReceiver(() => ({ status: 200, body: `${PLANTED} has it` }))
  system = await startSupport(undefined, {
    MULTIHUB_PERSON_RETENTION: '30d',
    MULTIHUB_ERASURES_FILE: join(directory, 'erasures.jsonl'),
  })
  shop = await system.newMerchant()
  await system.operator(EndpointService).createEndpoint({
    merchantId: shop.merchant_id,
    environment: Environment.TEST,
    url: receiver.url,
    events: [...SUPPORT_EVENTS],
  })
})
afterAll(async () => {
  await system[Symbol.asyncDispose]()
  await receiver.stop()
  await rm(directory, { recursive: true, force: true })
  restoreClock()
})

const refunds = () => system.operator(RefundService)
const chargebacks = () => system.operator(ChargebackService)
const tickets = () => system.operator(TicketService)
const attachments = () => system.operator(AttachmentService)
const scope = () => ({ merchantId: shop.merchant_id, environment: Environment.TEST })

/** A paid deposit with a ticket, a refund and a chargeback, all of which have ended, with texts, files and callbacks. */
async function paymentWithTexts(): Promise<SupportOfPayment> {
  const ids = await createSupportOfPayment(system, shop, PLANTED)
  await eventually(
    () => deliveriesOf(ids),
    (found = []) => found.length >= 6 && found.every(({ status: each }) => each === 'delivered'),
  )
  return ids
}

/** The callbacks of the ticket, refund and chargeback, as they are stored. */
async function deliveriesOf({ ticket_id, refund_id, chargeback_id }: SupportOfPayment): Promise<Delivery[]> {
  const stored = await system.roles.storeOf('notifier').collection<Delivery>(DELIVERIES)
  const found = await Promise.all(
    [ticket_id, refund_id, chargeback_id].map((id) =>
      stored.find('by_resource', { equals: [shop.merchant_id, id] }, { limit: 100 }),
    ),
  )
  return found.flat()
}

/** What the operator and the merchant read of the payment's ticket, refund and chargeback. */
async function textsOf({ ticket_id, refund_id, chargeback_id, file_ids }: SupportOfPayment): Promise<string> {
  const refund = { h_id: refund_id }
  const everything = [
    await tickets().getTicket({ ticketId: ticket_id }),
    await tickets().listTicketComments({ ticketId: ticket_id }),
    (await refunds().listRefunds({ merchantId: shop.merchant_id, pageSize: 100 })).refunds.find(
      ({ refundId }) => refundId === refund_id,
    ),
    await refunds().listRefundComments({ refundId: refund_id }),
    (await chargebacks().listChargebacks({ merchantId: shop.merchant_id, pageSize: 100 })).chargebacks.find(
      ({ chargebackId }) => chargebackId === chargeback_id,
    ),
    await Promise.all(
      file_ids.map((attachmentId) => attachments().getAttachment({ ...scope(), attachmentId })),
    ),
    (await shop.call('refund.status', { refund })).body.result,
    (await shop.call('ticket.status', { ticket: { h_id: ticket_id } })).body.result,
  ]
  return JSON.stringify(everything, (_name, value) => (typeof value === 'bigint' ? `${value}` : value))
}

async function waitUntilErased(ids: SupportOfPayment): Promise<void> {
  await eventually(
    () => textsOf(ids),
    (texts = PLANTED) => !texts.includes(PLANTED),
  )
  for (const attachmentId of ids.file_ids)
    await eventually(
      () => attachments().getAttachment({ ...scope(), attachmentId }),
      (found) => found?.attachment?.status === AttachmentStatus.EXPIRED,
    )
  const erased = await eventually(
    () => deliveriesOf(ids),
    (found = []) => found.every(({ erased_at }) => erased_at !== undefined),
  )
  expect(erased.flatMap(({ attempts }) => attempts).map(({ response_start }) => response_start)).toEqual(
    erased.flatMap(({ attempts }) => attempts.map(() => undefined)),
  )
}

const erase = ({ payment_id }: SupportOfPayment) =>
  eventually(
    () =>
      system.operator(PaymentErasureService).erasePerson({
        merchantId: shop.merchant_id,
        person: { case: 'paymentId', value: payment_id },
      }),
    (answer) => answer !== undefined,
  )

const listed = () => readErasures(readLines(join(directory, 'erasures.jsonl')), system.roles.keys.search)

// O11
test('what a payment has at support is erased with it: ticket, refunds, chargebacks, files, callbacks', async () => {
  const ids = await paymentWithTexts()
  const other = await paymentWithTexts()
  const [before] = await deliveriesOf(ids)
  expect(before?.attempts.some(({ response_start }) => response_start !== undefined)).toBe(true)
  expect((await textsOf(ids)).split(PLANTED).length).toBeGreaterThan(10)
  await erase(ids)
  await waitUntilErased(ids)
  expect(await textsOf(ids)).toContain('"minor":"100"')
  const { merchant_id } = shop
  const erasures = await listed()
  for (const [kind, id] of [
    ['ticket', ids.ticket_id],
    ['refund', ids.refund_id],
    ['chargeback', ids.chargeback_id],
  ] as const)
    expect(erasures.includes({ kind, merchant_id, id })).toBe(true)
  expect((await textsOf(other)).split(PLANTED).length).toBeGreaterThan(10)
  expect((await deliveriesOf(other)).some(({ erased_at }) => erased_at)).toBe(false)
})

test('what is written after an erasure is erased by its repetition', async () => {
  const ids = await paymentWithTexts()
  await erase(ids)
  await waitUntilErased(ids)
  const { ticket_id: ticketId, refund_id: refundId } = ids
  await refunds().answerRefund({ refundId, body: `Late ${PLANTED}`, operationId: randomUUID() })
  expect(await textsOf(ids)).toContain(`Late ${PLANTED}`)
  expect((await erase(ids))?.paymentIds).toEqual([])
  await waitUntilErased(ids)
  expect((await tickets().getTicket({ ticketId })).ticket?.status).toBe(TicketStatus.CLOSED)
})

// O11
test('what has ended is erased by itself when its time is over, with its files, and what is open is not', async () => {
  const ids = await paymentWithTexts()
  const open = await shop.call('ticket.create', {
    identifiers: { c_id: randomUUID() },
    title: `${PLANTED} is open`,
    description: 'b',
    category: 'other',
    attachment_ids: [await ticketFile(system, shop, PLANTED)],
  })
  const open_id: string = open.body.result.identifiers.h_id
  clock.stepWall(29 * DAY_MS)
  const late = await paymentWithTexts()
  expect(await textsOf(ids)).toContain(PLANTED)
  clock.stepWall(2 * DAY_MS)
  await waitUntilErased(ids)
  const payment = await eventually(
    () => system.operator(PaymentService).getPayment({ paymentId: ids.payment_id, reveal: true }),
    (found) => found?.payment?.eraseTime !== undefined,
  )
  expect(payment?.payment?.details).toBeUndefined()
  expect((await tickets().getTicket({ ticketId: open_id })).ticket?.title).toBe(`${PLANTED} is open`)
  expect((await textsOf(late)).split(PLANTED).length).toBeGreaterThan(10)
  const erasures = await listed()
  const { merchant_id } = shop
  expect(erasures.includes({ kind: 'payment', merchant_id, id: ids.payment_id })).toBe(true)
  expect(erasures.includes({ kind: 'ticket', merchant_id, id: open_id })).toBe(false)
})
