import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { AttachmentStatus } from '#gen/multihub/attachments/v1/attachment_pb.ts'
import { AttachmentService } from '#gen/multihub/attachments/v1/attachment_service_pb.ts'
import { Environment } from '#gen/multihub/common/v1/environment_pb.ts'
import { PaymentService } from '#gen/multihub/payments/v1/payment_service_pb.ts'
import { ChargebackStatus } from '#gen/multihub/support/v1/chargeback_pb.ts'
import { ChargebackService } from '#gen/multihub/support/v1/chargeback_service_pb.ts'
import { RefundService } from '#gen/multihub/support/v1/refund_service_pb.ts'
import { TicketService } from '#gen/multihub/support/v1/ticket_service_pb.ts'
import { useClock } from '#lib/base/time.ts'
import { PublicError } from '#lib/contract/errors/public-error.ts'
import type { EffectDocument } from '#lib/patterns/effects/effect.ts'
import type { CollectionSpec } from '#lib/store/store.ts'
import type { TestDocument } from '#lib/store/test-end.ts'
import { ATTACHMENTS } from '../../services/attachments/store/attachments-store.ts'
import { PAYMENTS } from '../../services/payments/store/payments.ts'
import { CHARGEBACKS } from '../../services/support/chargebacks/store/chargebacks.ts'
import type { Comment } from '../../services/support/comments/domain/comment.ts'
import { REFUND_COMMENTS, TICKET_COMMENTS } from '../../services/support/comments/store/comments.ts'
import { operations } from '../../services/support/operations.ts'
import { REFUNDS } from '../../services/support/refunds/store/refunds.ts'
import { TICKETS } from '../../services/support/tickets/store/tickets.ts'
import { createAdjustableClock } from '../support/adjustable-clock.ts'
import { eventually } from '../support/eventually.ts'
import { type SupportClient, type SupportSystem, startSupport } from './support.fixture.ts'
import { createSupportOfPayment, type SupportOfPayment } from './support-of-payment.fixture.ts'

const DAY_MS = 86_400_000

const clock = createAdjustableClock()
let restoreClock: () => void
let system: SupportSystem
let shop: SupportClient
beforeAll(async () => {
  // The walks that delete come once a minute: here they come at once.
  const after: typeof clock.after = (delay_ms, action) =>
    clock.after(delay_ms === 60_000 ? 50 : delay_ms, action)
  restoreClock = useClock({ ...clock, after })
  system = await startSupport(undefined, { MULTIHUB_TEST_RETENTION: '7d' })
  shop = await system.newMerchant()
})
afterAll(async () => {
  await system[Symbol.asyncDispose]()
  restoreClock()
})

/** The code with which a read is refused; 0 when it is answered. */
async function codeOf(read: () => Promise<unknown>): Promise<number> {
  try {
    await read()
    return 0
  } catch (error) {
    return error instanceof PublicError ? error.code : -1
  }
}

const payment = ({ payment_id: paymentId }: SupportOfPayment) =>
  codeOf(() => system.operator(PaymentService).getPayment({ paymentId }))
const ticket = ({ ticket_id: ticketId }: SupportOfPayment) =>
  codeOf(() => system.operator(TicketService).getTicket({ ticketId }))
const refund = ({ refund_id: refundId }: SupportOfPayment) =>
  codeOf(() => system.operator(RefundService).getRefund({ refundId }))
const chargeback = ({ chargeback_id: chargebackId }: SupportOfPayment) =>
  codeOf(() => system.operator(ChargebackService).getChargeback({ chargebackId }))
const files = ({ file_ids }: SupportOfPayment) =>
  Promise.all(
    file_ids.map(async (attachmentId) => {
      const { attachment } = await system.operator(AttachmentService).getAttachment({
        merchantId: shop.merchant_id,
        environment: Environment.TEST,
        attachmentId,
      })
      return attachment?.status
    }),
  )
const fileCodes = async (ids: SupportOfPayment) => codeOf(() => files(ids))

/** Waits until a read of a resource is refused as one of an unknown resource. */
const isRefused = (
  read: (ids: SupportOfPayment) => Promise<number>,
  ids: SupportOfPayment,
  code: number,
): Promise<number> =>
  eventually(
    () => read(ids),
    (seen) => seen === code,
  )

/** Creates a payment with a ticket, a refund and a chargeback, and waits until all have ended: their retention begins then. */
async function createEnded(): Promise<SupportOfPayment> {
  const ids = await createSupportOfPayment(system, shop, 'Asha')
  await areEnded('payments', PAYMENTS, [ids.payment_id])
  await areEnded('support', TICKETS, [ids.ticket_id])
  await areEnded('support', REFUNDS, [ids.refund_id])
  await areEnded('support', CHARGEBACKS, [ids.chargeback_id])
  return ids
}

/** Waits until nothing of these documents is left to do. */
async function areEnded(role: string, spec: CollectionSpec, ids: readonly string[]): Promise<void> {
  const stored = await system.roles.storeOf(role).collection<TestDocument>(spec)
  for (const id of ids)
    await eventually(
      () => stored.find('by_id', { equals: [id] }, { limit: 1 }),
      (found) => found?.[0]?.test_ended_at !== undefined,
    )
}

/** How many comments the store has of the payment's ticket and refund. */
async function commentsOf({ ticket_id, refund_id }: SupportOfPayment): Promise<number> {
  const store = system.roles.storeOf('support')
  const count = async (spec: typeof TICKET_COMMENTS, thread_id: string): Promise<number> => {
    const range = { equals: [shop.merchant_id, 'test', thread_id] }
    return (await (await store.collection<Comment>(spec)).find('key', range, { limit: 10 })).length
  }
  return (await count(TICKET_COMMENTS, ticket_id)) + (await count(REFUND_COMMENTS, refund_id))
}

// O25
test('what has ended at support is deleted with its comments and files, also after an outage in between', async () => {
  const ids = await createEnded()
  expect(await commentsOf(ids)).toBe(3)
  // Files cannot be deleted, so what has files waits; the payment and the refund do not.
  system.roles.setStoreUnavailable('attachments', true)
  clock.stepWall(8 * DAY_MS)
  await isRefused(payment, ids, 6010)
  await isRefused(refund, ids, 11_001)
  expect([await ticket(ids), await chargeback(ids)]).toEqual([0, 0])
  const listed = await shop.call('ticket.list', { payment: { c_id: ids.payment_c_id } })
  expect(listed.body.result.items).toHaveLength(1)
  system.roles.setStoreUnavailable('attachments', false)
  await isRefused(ticket, ids, 10_001)
  await isRefused(chargeback, ids, 12_001)
  expect(await commentsOf(ids)).toBe(0)
  const { EXPIRED } = AttachmentStatus
  expect(await files(ids)).toEqual([EXPIRED, EXPIRED])
  await areEnded('attachments', ATTACHMENTS, ids.file_ids)
  // What is left of a file ends one retention later.
  clock.stepWall(8 * DAY_MS)
  await isRefused(fileCodes, ids, 13_001)
})

// O25
test('the references of what was deleted are free, and name something new', async () => {
  const ids = await createEnded()
  const repeat = {
    ticket: { title: 'a', description: 'b', category: 'other', identifiers: { c_id: ids.ticket_c_id } },
    refund: { amount: '5', identifiers: { c_id: ids.refund_c_id } },
  }
  const { body: known } = await shop.call('ticket.create', repeat.ticket)
  expect(known.error.code).toBe(1013)
  clock.stepWall(8 * DAY_MS)
  await isRefused(ticket, ids, 10_001)
  await isRefused(refund, ids, 11_001)
  const { c_id } = await shop.deposit()
  const again = await eventually(
    () => shop.call('ticket.create', repeat.ticket),
    (answer) => answer?.body.error === undefined,
  )
  expect(again.body.result.identifiers.h_id).not.toBe(ids.ticket_id)
  const refunded = await eventually(
    () => shop.call('refund.request', { ...repeat.refund, payment: { c_id } }),
    (answer) => answer?.body.error === undefined,
  )
  expect(refunded.body.result.identifiers.h_id).not.toBe(ids.refund_id)
})

// O25
test('a chargeback that outlives its payment can be won, and nothing waits for the payment', async () => {
  const { h_id: paymentId } = await shop.deposit()
  const demanded = {
    paymentId,
    amount: { minor: 5n, currency: '' },
    reasonCode: '10.4',
    operationId: 'op-1',
  }
  const opened = await eventually(
    () =>
      system
        .operator(ChargebackService)
        .openChargeback(demanded)
        .catch(() => undefined),
    (answer) => answer !== undefined,
  )
  const chargebackId = opened?.chargeback?.chargebackId ?? ''
  await areEnded('payments', PAYMENTS, [paymentId])
  clock.stepWall(8 * DAY_MS)
  await eventually(
    () => codeOf(() => system.operator(PaymentService).getPayment({ paymentId })),
    (code) => code === 6010,
  )
  const won = { chargebackId, status: ChargebackStatus.WON, note: '' }
  await system.operator(ChargebackService).moveChargeback(won)
  const stored = await system.roles.storeOf('support').collection<EffectDocument>(CHARGEBACKS)
  await eventually(
    async () => (await stored.find('by_id', { equals: [chargebackId] }, { limit: 1 }))[0],
    (found) => found?.effects.length === 0,
  )
})

// O25
test('a check of the data does not miss a refund of the test environment after 7 days', async () => {
  const nothing = async function* () {}
  const check = await operations.checkData?.(system.roles.storeOf('support'), nothing, {}, system.roles.keys)
  const required = { role: 'support', merchant_id: shop.merchant_id, id: 'gone', subject: 'it' } as const
  const claim = {
    kind: 'refund',
    refund_id: 'gone',
    amount: 5n,
    currency: 'INR',
    status: 'completed',
  } as const
  const find = (environment: string, days: number) => {
    const at = new Date(clock.now_ms() - days * DAY_MS)
    return check?.find?.({ ...required, environment, claim, at })
  }
  expect(await find('test', 8)).toBe('found')
  expect(await find('test', 6)).toBe('missing')
  expect(await find('production', 4_000)).toBe('missing')
})
