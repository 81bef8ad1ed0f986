import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { BalanceService } from '#gen/multihub/balances/v1/balance_service_pb.ts'
import { Environment } from '#gen/multihub/common/v1/environment_pb.ts'
import { AnomalyKind, AnomalyResolutionKind, PaymentStatus } from '#gen/multihub/payments/v1/payment_pb.ts'
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
  const operator = system.roles.client(PaymentService, 'operator')
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
  await system.roles.client(BalanceService, 'operator').adjust({
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
