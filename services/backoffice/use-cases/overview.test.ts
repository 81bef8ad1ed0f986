import { timestampFromMs } from '@bufbuild/protobuf/wkt'
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { Environment } from '#gen/multihub/common/v1/environment_pb.ts'
import { RefundStatus } from '#gen/multihub/payments/v1/refund_pb.ts'
import { ChargebackService } from '#gen/multihub/support/v1/chargeback_service_pb.ts'
import { MerchantTicketService } from '#gen/multihub/support/v1/merchant_ticket_service_pb.ts'
import { RefundService } from '#gen/multihub/support/v1/refund_service_pb.ts'
import { TicketCategory } from '#gen/multihub/support/v1/ticket_pb.ts'
import { currentRequest, withRequest } from '#lib/base/context.ts'
import { installManualClock } from '../../../test/support/manual-clock.ts'
import { role as balances } from '../../balances/service.ts'
import { role as merchants } from '../../merchants/service.ts'
import { role as notifier } from '../../notifier/service.ts'
import { role as support } from '../../support/service.ts'
import { startDoor, type TestDoor } from '../backoffice.fixture.ts'
import { createOverview, type OverviewDeps } from './overview.ts'

const GET_OVERVIEW = 'multihub.backoffice.v1.OverviewService/GetOverview'
const NOTHING = { count: 0 }

let door: TestDoor
beforeAll(async () => {
  // Without payments, which is down.
  door = await startDoor([merchants, balances, support, notifier])
})
afterAll(async () => door[Symbol.asyncDispose]())

async function recordRefund(refundId: string, merchantId: string, requested_ms: number): Promise<void> {
  await door.roles.client(RefundService, 'payments').recordRefundChange({
    change: {
      refundId,
      merchantId,
      environment: Environment.TEST,
      paymentId: 'p-1',
      amount: { minor: 500n, currency: 'INR' },
      cId: refundId,
      number: 1,
      status: RefundStatus.PENDING,
      changeTime: timestampFromMs(requested_ms),
    },
  })
}

// O8, O18
test('the overview has the numbers of all roles that answer, and names the others', async () => {
  await recordRefund('r-2', '7002', 2_000)
  await recordRefund('r-1', '7001', 1_000)
  await door.roles.client(ChargebackService, 'payments').recordChargeback({
    debit: {
      chargebackId: 'c-1',
      merchantId: '7001',
      environment: Environment.TEST,
      paymentId: 'p-1',
      amount: { minor: 500n, currency: 'INR' },
      reasonCode: '10.4',
      deadlineTime: timestampFromMs(9_000),
      createTime: timestampFromMs(3_000),
    },
  })
  await door.roles.client(MerchantTicketService, 'gateway').createTicket({
    merchantId: '7001',
    environment: Environment.TEST,
    cId: 't-1',
    payloadHash: 'hash',
    category: TicketCategory.OTHER,
    title: 'where is it?',
    description: 'the money',
  })
  const { token } = await door.newPrincipal(['read'])
  const { status, body } = await door.call(token, GET_OVERVIEW, {})
  expect(status).toBe(200)
  expect(body).toMatchObject({
    pendingRefunds: { count: 2, oldestTime: '1970-01-01T00:00:01Z' },
    chargebacksByDeadline: { count: 1, oldestTime: '1970-01-01T00:00:09Z' },
    unresolvedTickets: { count: 1 },
    stuckEffects: NOTHING,
    deadDeliveries: NOTHING,
    heldDeliveries: NOTHING,
    openBreakers: NOTHING,
    pendingApprovals: NOTHING,
    ledger: { consistent: false },
    computedTime: expect.any(String),
    unavailable: ['payments'],
  })
  expect(body).not.toHaveProperty('openAnomalies')
})

// O8
test('the overview is closed to principals of merchants', async () => {
  const { token } = await door.newPrincipal(['read'], '7001')
  expect(await door.call(token, GET_OVERVIEW, {})).toMatchObject({ status: 403 })
})

// O8
test('a process answers with the same numbers for 5 s, however many callers it has', async () => {
  using manual = installManualClock()
  let asked = 0
  const requests = new Set<unknown>()
  const count = async (): Promise<never> => {
    asked += 1
    requests.add(currentRequest())
    throw new Error('the test counts only the calls')
  }
  const readOverview = createOverview({
    payments: { summarizePayments: count },
    balances: { summarizeLedger: count },
    support: { summarizeSupport: count },
    notifier: { summarizeDeliveries: count },
    countPendingApprovals: count,
    readOperations: async () => [],
  } as OverviewDeps)
  // The deadline of the caller that comes first must not end what the others wait for.
  const [first, second] = await Promise.all([
    withRequest({ request_id: 'first', deadline_ms: 1 }, readOverview),
    readOverview(),
  ])
  expect(second).toBe(first)
  expect([...requests]).toEqual([undefined])
  expect(first.unavailable).toEqual(['backoffice', 'balances', 'notifier', 'payments', 'support'])
  await manual.advance(4_999)
  await readOverview()
  expect(asked).toBe(5)
  await manual.advance(1)
  await readOverview()
  expect(asked).toBe(10)
})
