import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { BalanceService } from '#gen/multihub/balances/v1/balance_service_pb.ts'
import { HoldResolution, LedgerService } from '#gen/multihub/balances/v1/ledger_service_pb.ts'
import { Environment } from '#gen/multihub/common/v1/environment_pb.ts'
import { Direction } from '#gen/multihub/merchants/v1/route_pb.ts'
import { AnomalyKind, AnomalyResolutionKind, PaymentStatus } from '#gen/multihub/payments/v1/payment_pb.ts'
import { PaymentRefundService } from '#gen/multihub/payments/v1/payment_refund_service_pb.ts'
import { PaymentService } from '#gen/multihub/payments/v1/payment_service_pb.ts'
import { eventually } from '../../test/support/eventually.ts'
import { type PaymentsSystem, startPayments } from './payments-system.fixture.ts'

let system: PaymentsSystem
beforeAll(async () => {
  system = await startPayments()
})
afterAll(async () => {
  await system[Symbol.asyncDispose]()
})

// E6, P9
test('a credit beyond 2^63-1 is stuck at once, is an anomaly, and is posted when there is room', async () => {
  const balance = 2n ** 63n - 1n - 5n
  await system.fund(balance)
  const { paymentId } = await system.deposit(150_000n)
  await system.waitForStatus(paymentId, PaymentStatus.SUCCESS)
  const operator = system.roles.client(PaymentService, 'backoffice')
  const { effects } = await eventually(
    () => operator.listStuckEffects({}),
    (page) => page?.effects.length === 1,
  )
  expect(effects).toMatchObject([{ paymentId, kind: 'post_entry', tries: 1, failure: 'PublicError' }])
  const [anomaly] = await eventually(
    () => system.anomalies(paymentId),
    (found) => found?.length === 1,
  )
  const { anomalyId = '', kind, description } = anomaly ?? {}
  expect(kind).toBe(AnomalyKind.LEDGER_REFUSED)
  expect(description).toContain('with 6001')
  // The payment has ended, so the operator can only dismiss the anomaly, or mend its cause.
  const decision = { anomalyId, operationId: 'op-1', note: '' }
  const paid = {
    ...decision,
    resolution: AnomalyResolutionKind.PAID,
    amount: { minor: 150_000n, currency: 'INR' },
  }
  await expect(operator.resolveAnomaly(paid)).rejects.toMatchObject({ code: 8801 })
  await system.roles.client(BalanceService, 'backoffice').adjust({
    merchantId: system.merchant_id,
    environment: Environment.TEST,
    currency: 'INR',
    amount: { minor: -balance },
    reason: 'paid out by hand',
    operationId: 'room',
    paymentId,
  })
  await operator.retryEffect({ paymentId, effectId: effects[0]?.effectId ?? '' })
  expect((await system.balance()).available).toBe(150_000n)
  expect((await operator.listStuckEffects({})).effects).toEqual([])
  // The adjustment names the payment, so its statement shows it.
  expect((await system.entries(paymentId)).map(({ amount }) => amount?.minor)).toEqual([balance, 150_000n])
  expect((await system.events(paymentId, 2)).map(({ event }) => event)).toEqual([
    'payment.created',
    'payment.completed',
  ])
})

// P7, S9
test('a hold whose id belongs to another entry is stuck at once, and is an anomaly of its refund', async () => {
  const { paymentId } = await system.deposit(1_000n, { c_id: 'refunded' })
  await system.waitForStatus(paymentId, PaymentStatus.SUCCESS)
  const support = system.roles.client(PaymentRefundService, 'support')
  const scope = { merchantId: system.merchant_id, environment: Environment.TEST }
  const refund = { ...scope, paymentCId: 'refunded', refundId: 'r-1' }
  await support.reserveRefund({ ...refund, cId: 'r-1', amount: 400n, policy: {} })
  const amount = { minor: 1n, currency: 'INR' }
  const ledger = system.roles.client(LedgerService, 'payments')
  const hold = { ...scope, holdId: 'r-1:hold:1' }
  await ledger.placeHold({ ...hold, amount })
  const { available, held } = await system.balance()
  const anomalies = await eventually(
    async () => {
      // No decision comes before its deadline, which on a slow machine can end before the approval is stored.
      await expect(support.approveRefund(refund, { timeoutMs: 500 })).rejects.toMatchObject({ code: 2002 })
      return await system.anomalies(paymentId)
    },
    (found) => found?.length === 1,
  )
  expect(anomalies).toMatchObject([{ kind: AnomalyKind.LEDGER_REFUSED, refundId: 'r-1' }])
  expect(anomalies[0]?.description).toContain('the entry r-1:hold:1 with 1013')
  const { effects } = await system.roles.client(PaymentService, 'backoffice').listStuckEffects({})
  expect(effects).toMatchObject([{ paymentId, kind: 'hold_funds', tries: 1 }])
  expect(await system.balance()).toEqual({ available, held })
  await ledger.resolveHold({ ...hold, resolution: HoldResolution.RELEASE })
})

// E6, E9
test('a deposit of 10^15 or more that could take the balance past 2^63-1 is refused, and nothing is kept', async () => {
  const large = 10n ** 15n
  system.provider.answer('pending')
  const { available } = await system.balance()
  await system.fund(2n ** 63n - 1n - available)
  // The funds of the withdrawal are held, and come back when it fails.
  await system.withdraw(large, { accounts: ['acme'] })
  expect(await system.balance()).toMatchObject({ held: large })
  const [deposits, withdrawals] = await Promise.all([
    system.withdrawalRoute({ accounts: ['acme'], route: { direction: Direction.IN, method: 'upi' } }),
    system.withdrawalRoute({ accounts: ['acme'] }),
  ])
  const refusalsOf = async (serviceId: string, amount: bigint): Promise<number[]> => {
    const operator = system.roles.client(PaymentService, 'backoffice')
    const { refusals } = await operator.explainRoute({ merchantId: system.merchant_id, serviceId, amount })
    return refusals.map(({ code }) => code)
  }
  const depositOnce = (c_id: string, amount: bigint) =>
    system.deposit(amount, { c_id, request: { serviceId: deposits } })
  const refusal = { code: 6001, details: { description: 'params.payment.amount.value' } }
  await expect(depositOnce('large', large)).rejects.toMatchObject(refusal)
  expect(await refusalsOf(deposits, large)).toEqual([6001])
  expect(await refusalsOf(withdrawals, large)).toEqual([])
  // The ledger is not asked about less, so that other payments cost no call.
  expect(await refusalsOf(deposits, large - 1n)).toEqual([])
  expect(await depositOnce('below', large - 1n)).toMatchObject({ status: PaymentStatus.PROCESSING })

  await system.fund(-large)
  expect(await refusalsOf(deposits, large)).toEqual([])
  expect(await refusalsOf(deposits, large + 1n)).toEqual([6001])
  const { hId } = await depositOnce('large', large)
  // A repetition learns what became of its first request, whatever the balance is now.
  await system.fund(large)
  await expect(depositOnce('large', large)).rejects.toMatchObject({ code: 6009, context: { h_id: hId } })
})
