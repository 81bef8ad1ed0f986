import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { type Payment, PaymentStatus } from '#gen/multihub/payments/v1/payment_pb.ts'
import { PaymentService } from '#gen/multihub/payments/v1/payment_service_pb.ts'
import { eventually } from '../../test/support/eventually.ts'
import { type PaymentsSystem, startPayments } from './payments-system.fixture.ts'

const { DECLINED, SUCCESS } = PaymentStatus

let system: PaymentsSystem
let paid: Payment
let other: Payment
const operator = () => system.roles.client(PaymentService, 'backoffice')

beforeAll(async () => {
  system = await startPayments()
  paid = await system.deposit(10_000n)
  await system.waitForStatus(paid.paymentId, SUCCESS)
  other = await system.deposit(10_000n)
  await system.waitForStatus(other.paymentId, SUCCESS)
})
afterAll(async () => {
  await system[Symbol.asyncDispose]()
})

const idsOf = (page: { readonly payments: readonly Payment[] }): string[] =>
  page.payments.map(({ paymentId }) => paymentId)

// O8
test('payments are listed over all merchants, by route, by account and by status', async () => {
  expect(idsOf(await operator().listPayments({}))).toEqual([other.paymentId, paid.paymentId])
  expect(idsOf(await operator().listPayments({ serviceId: paid.serviceId }))).toEqual([paid.paymentId])
  expect(idsOf(await operator().listPayments({ accountId: 'sandbox', statuses: [SUCCESS] }))).toEqual([
    other.paymentId,
    paid.paymentId,
  ])
  expect(idsOf(await operator().listPayments({ statuses: [DECLINED] }))).toEqual([])
  const elsewhere = { serviceId: paid.serviceId, merchantId: '1' }
  expect(idsOf(await operator().listPayments(elsewhere))).toEqual([])
})

// O19
test('a filter without an index, a wrong page size and a token of another filter are refused by name', async () => {
  const refusedWith = (description: string) => ({ code: 9000, details: { description } })
  await expect(
    operator().listPayments({ accountId: 'sandbox', merchantId: system.merchant_id }),
  ).rejects.toMatchObject(refusedWith('account_id'))
  await expect(
    operator().listAnomalies({ accountId: 'sandbox', merchantId: system.merchant_id }),
  ).rejects.toMatchObject(refusedWith('account_id'))
  for (const pageSize of [-1, 1_001]) {
    for (const list of [
      'listPayments',
      'listAnomalies',
      'listWithdrawalRefusals',
      'listStuckEffects',
    ] as const)
      await expect(operator()[list]({ pageSize })).rejects.toMatchObject(refusedWith('page_size'))
  }
  const { nextPageToken: pageToken } = await operator().listPayments({ pageSize: 1 })
  expect(idsOf(await operator().listPayments({ pageSize: 1, pageToken }))).toEqual([paid.paymentId])
  await expect(operator().listPayments({ pageToken, statuses: [SUCCESS] })).rejects.toMatchObject(
    refusedWith('page_token'),
  )
})

// O18
test('the summary counts each payment of a route in each status that it has entered', async () => {
  // A write can be read a moment before its process has counted it.
  const summary = await eventually(
    () => operator().summarizePayments({}),
    (read) =>
      [paid, other].every(({ serviceId }) =>
        read?.paymentsLastDay.some((count) => count.serviceId === serviceId && count.status === SUCCESS),
      ),
  )
  for (const { serviceId } of [paid, other]) {
    for (const counts of [summary.paymentsLastHour, summary.paymentsLastDay]) {
      const of_route = counts.filter((count) => count.serviceId === serviceId)
      expect(of_route.find(({ status }) => status === SUCCESS)?.count).toBe(1n)
      expect(of_route.every(({ count }) => count === 1n)).toBe(true)
    }
  }
  expect(summary).toMatchObject({
    openAnomalies: { count: 0 },
    stuckEffects: { count: 0 },
    openBreakers: { count: 0 },
  })
  expect(summary.openAnomalies?.oldestTime).toBeUndefined()
})

test('an anomaly is read by its id, and an unknown id is refused by name', async () => {
  await expect(operator().getAnomaly({ anomalyId: 'unknown' })).rejects.toMatchObject({
    details: { description: 'anomaly_id' },
  })
})
