import { timestampFromMs } from '@bufbuild/protobuf/wkt'
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { BalanceService } from '#gen/multihub/balances/v1/balance_service_pb.ts'
import { Environment } from '#gen/multihub/common/v1/environment_pb.ts'
import { RefundStatus } from '#gen/multihub/payments/v1/refund_pb.ts'
import { MerchantTicketService } from '#gen/multihub/support/v1/merchant_ticket_service_pb.ts'
import { RefundService } from '#gen/multihub/support/v1/refund_service_pb.ts'
import { TicketCategory, TicketPriority } from '#gen/multihub/support/v1/ticket_pb.ts'
import { TicketService } from '#gen/multihub/support/v1/ticket_service_pb.ts'
import { role as balances } from '../../balances/service.ts'
import { role as support } from '../../support/service.ts'
import { startDoor, type TestDoor } from '../backoffice.fixture.ts'

const REFUNDS = 'multihub.support.v1.RefundService'
const TICKETS = 'multihub.support.v1.TicketService'
const BALANCES = 'multihub.balances.v1.BalanceService'

let door: TestDoor
let operator: string
let merchant: string
let stranger: string
beforeAll(async () => {
  door = await startDoor([support, balances])
  operator = (await door.newPrincipal(['support', 'money'])).token
  merchant = (await door.newPrincipal(['read'], '7001')).token
  stranger = (await door.newPrincipal(['read'], '7002')).token
  const { recordRefundChange } = door.roles.client(RefundService, 'payments')
  const change = {
    refundId: 'refund-1',
    merchantId: '7001',
    environment: Environment.TEST,
    paymentId: 'payment-1',
    paymentCId: 'order-1',
    paymentHId: 'h-1',
    amount: { minor: 500n, currency: 'INR' },
    changeTime: timestampFromMs(1_000),
  }
  const requested = { ...change, cId: 'back-1', number: 1, status: RefundStatus.PENDING, reason: 'damaged' }
  await recordRefundChange({ change: requested })
  const approved = { ...change, number: 2, status: RefundStatus.APPROVED, reason: 'a regular customer' }
  await recordRefundChange({ change: approved })
  const failed = { ...change, number: 3, status: RefundStatus.FAILED, providerId: 'prov-9' }
  await recordRefundChange({ change: failed })
  await door.roles.client(RefundService, 'backoffice').answerRefund({ refundId: 'refund-1', body: 'sorry' })
})
afterAll(async () => door[Symbol.asyncDispose]())

// O8
test('GetRefund shows a refund with its payment, its amount, its status and its id at the provider', async () => {
  expect(await door.call(operator, `${REFUNDS}/GetRefund`, { refundId: 'refund-1' })).toMatchObject({
    status: 200,
    body: {
      refund: {
        refundId: 'refund-1',
        cId: 'back-1',
        paymentId: 'payment-1',
        paymentHId: 'h-1',
        amount: { minor: '500', currency: 'INR' },
        status: 'REFUND_STATUS_FAILED',
        reason: 'damaged',
        operatorReason: 'a regular customer',
        providerId: 'prov-9',
      },
    },
  })
})

// O2
test("a merchant's principal reads its refund and its comments, without the operator's reason", async () => {
  const { body } = await door.call(merchant, `${REFUNDS}/GetRefund`, { refundId: 'refund-1' })
  expect(body.refund).toMatchObject({ reason: 'damaged', providerId: 'prov-9' })
  expect(body.refund.operatorReason).toBe('')
  const asked = await door.call(merchant, `${REFUNDS}/GetRefund`, { refundId: 'refund-1', asMerchant: false })
  expect(asked.body).toEqual(body)
  const listed = await door.call(merchant, `${REFUNDS}/ListRefunds`, {})
  expect(listed.body.refunds).toEqual([body.refund])
  expect(await door.call(merchant, `${REFUNDS}/ListRefundComments`, { refundId: 'refund-1' })).toMatchObject({
    status: 200,
    body: { comments: [{ body: 'sorry' }] },
  })
})

// O2
test("a merchant's principal sees its adjustments and settlements without the operator's reasons", async () => {
  const scope = { merchantId: '7001', environment: 'ENVIRONMENT_TEST' }
  const owner = { merchantId: '7001', environment: Environment.TEST }
  const fields = { ...owner, currency: 'INR', reason: 'goodwill for a difficult client' }
  const ledger = door.roles.client(BalanceService, 'backoffice')
  const { entry } = await ledger.adjust({ ...fields, amount: { minor: 100n }, operationId: 'a' })
  const entryId = entry?.entryId
  await ledger.settle({ ...fields, operationId: 's' })
  const answersFor = async (token: string) => [
    (await door.call(token, `${BALANCES}/ListEntries`, scope)).body,
    (await door.call(token, `${BALANCES}/GetEntry`, { ...scope, entryId })).body,
    (await door.call(token, `${BALANCES}/ExportEntries`, scope)).body,
  ]
  const seen = await answersFor(merchant)
  expect(seen[0].entries).toMatchObject([
    { kind: 'LEDGER_ENTRY_KIND_ADJUSTMENT', amount: { minor: '100' }, reason: '' },
    { kind: 'LEDGER_ENTRY_KIND_SETTLEMENT', reason: '' },
  ])
  expect(seen[1].entry).toEqual(seen[0].entries[0])
  for (const answer of seen) expect(JSON.stringify(answer)).not.toContain('goodwill')
  for (const answer of await answersFor(operator)) expect(JSON.stringify(answer)).toContain('goodwill')
})

// O2
test('a refund of another merchant is like one that does not exist', async () => {
  for (const rpc of ['GetRefund', 'ListRefundComments']) {
    const foreign = await door.call(stranger, `${REFUNDS}/${rpc}`, { refundId: 'refund-1' })
    const missing = await door.call(stranger, `${REFUNDS}/${rpc}`, { refundId: 'refund-2' })
    expect([foreign.status, foreign.body]).toEqual([missing.status, missing.body])
    expect(missing.status).toBe(404)
  }
})

// O2
test("a merchant's principal reads no internal note of its ticket", async () => {
  const { ticket } = await door.roles.client(MerchantTicketService, 'gateway').createTicket({
    merchantId: '7001',
    environment: Environment.TEST,
    payloadHash: 'hash',
    cId: 'ticket-1',
    category: TicketCategory.OTHER,
    priority: TicketPriority.LOW,
    title: 'where is it?',
    description: 'the money',
  })
  const ticketId = ticket?.ticketId ?? ''
  const { answerTicket } = door.roles.client(TicketService, 'backoffice')
  for (const [body, internal] of [
    ['a known fraudster', true],
    ['we look', false],
    ['ask the bank', true],
    ['it is paid', false],
  ] as const)
    await answerTicket({ ticketId, body, internal })
  const bodies: string[] = []
  for (let pageToken = ''; ; ) {
    const list = { ticketId, pageSize: 1, pageToken }
    const { body } = await door.call(merchant, `${TICKETS}/ListTicketComments`, list)
    bodies.push(...(body.comments ?? []).map((comment: { readonly body: string }) => comment.body))
    if (!body.nextPageToken) break
    pageToken = body.nextPageToken
  }
  expect(bodies).toEqual(['we look', 'it is paid'])
  const all = await door.call(operator, `${TICKETS}/ListTicketComments`, { ticketId })
  expect(all.body.comments).toHaveLength(4)
})
