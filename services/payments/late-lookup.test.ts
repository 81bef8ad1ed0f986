import { afterEach, beforeEach, expect, test } from '@jest/globals'
import { Environment } from '#gen/multihub/common/v1/environment_pb.ts'
import {
  type Anomaly,
  AnomalyKind,
  AnomalyResolutionKind,
  type Payment,
  PaymentStatus,
} from '#gen/multihub/payments/v1/payment_pb.ts'
import { PaymentRefundService } from '#gen/multihub/payments/v1/payment_refund_service_pb.ts'
import { PaymentService } from '#gen/multihub/payments/v1/payment_service_pb.ts'
import { ProviderAccountService } from '#gen/multihub/payments/v1/provider_account_service_pb.ts'
import { uuidv7 } from '#lib/base/ids.ts'
import { now, useClock } from '#lib/base/time.ts'
import { createEffectRunner } from '#lib/patterns/effects/runner.ts'
import { type AdjustableClock, createAdjustableClock } from '../../test/support/adjustable-clock.ts'
import { trustedClock } from '../../test/support/clock-guard.ts'
import { eventually } from '../../test/support/eventually.ts'
import { lastingRun } from '../../test/support/runs.ts'
import { type FormProvider, startFormProvider } from './connectors/form/form-provider.fixture.ts'
import { beginDeposit } from './domain/new-payment.ts'
import type { StoredPayment } from './domain/payment.ts'
import { newDeposit } from './payment.fixture.ts'
import { type PaymentsSystem, startPayments } from './payments-system.fixture.ts'
import { keyOfPayment } from './store/payments.ts'
import { openPaymentsStore } from './store/payments-store.ts'

const { CONTRADICTS_FINAL_STATUS, OPEN_TOO_LONG } = AnomalyKind
const { DECLINED, PROCESSING, SUCCESS } = PaymentStatus
const MINUTE_MS = 60_000
const HOUR_MS = 60 * MINUTE_MS
/** The provider holds an amount with these digits, and the refund of such a payment. */
const HELD = 10_905n

let clock: AdjustableClock
let restoreClock: () => void
let provider: FormProvider
let system: PaymentsSystem
beforeEach(async () => {
  clock = createAdjustableClock()
  restoreClock = useClock(clock)
  provider = await startFormProvider()
  const { url: base_url, token, merchant_code } = provider
  const account = { account_id: 'form-1', connector: 'form', environment: 'test', base_url, token }
  system = await startPayments({ accounts: [{ ...account, settings: { merchant_code } }] })
})
afterEach(async () => {
  await system[Symbol.asyncDispose]()
  await provider.stop()
  restoreClock()
})

/**
 * A deposit that the provider has and holds. Routes of the test environment use the sandbox only, so it is stored as a
 * create stores it; the service does the rest.
 */
async function heldDeposit(expires_in_seconds: number): Promise<Payment> {
  const { payments: collection } = await openPaymentsStore(
    system.roles.storeOf('payments'),
    system.roles.keys,
  )
  const runner = createEffectRunner<StoredPayment>({
    name: 'payments',
    collection,
    keyOf: keyOfPayment,
    clock_guard: trustedClock,
    runs: lastingRun,
    effects: [],
  })
  const payment_id = uuidv7()
  const created_at = now()
  const { accounts } = await system.roles
    .client(ProviderAccountService, 'backoffice')
    .listProviderAccounts({})
  const { fingerprint = '' } = accounts.find(({ accountId }) => accountId === 'form-1') ?? {}
  const deposit = newDeposit({
    merchant_id: system.merchant_id,
    c_id: payment_id,
    payment_id,
    h_id: payment_id,
    ids: [payment_id],
    amount: HELD,
    created_at,
    provider_accounts: ['form-1'],
    attempt: { number: 1, account_id: 'form-1', created_at },
    attempts: [{ number: 1, account: { fingerprint, at: created_at } }],
    expires_at: new Date(created_at.getTime() + expires_in_seconds * 1_000),
  })
  await runner.insert(beginDeposit(deposit))
  return await system.waitForStatus(payment_id, PROCESSING)
}

/** Waits for an anomaly of a payment. */
async function anomalyOf({ paymentId }: Payment, kind: AnomalyKind): Promise<Anomaly> {
  const found = await eventually(
    () => system.anomalies(paymentId),
    (listed) => listed?.some((one) => one.kind === kind) ?? false,
  )
  const anomaly = found.find((one) => one.kind === kind)
  if (!anomaly) throw new Error('the anomaly is gone')
  return anomaly
}

// P7
test('a deposit that is paid after its expiry, at a provider without callbacks, becomes an anomaly', async () => {
  const deposit = await heldDeposit(60)
  clock.stepWall(MINUTE_MS)
  await system.waitForStatus(deposit.paymentId, DECLINED)
  provider.settleHeld()
  clock.stepWall(HOUR_MS)
  await anomalyOf(deposit, CONTRADICTS_FINAL_STATUS)
  expect((await system.payment(deposit.paymentId)).status).toBe(DECLINED)
})

// P7, S9
test('a refund that is paid after the operator ended it, at a provider without callbacks, becomes an anomaly', async () => {
  const deposit = await heldDeposit(30 * 60)
  provider.settleHeld()
  // The first poll is due after a minute.
  clock.stepWall(2 * MINUTE_MS)
  await system.waitForStatus(deposit.paymentId, SUCCESS)
  const refunds = system.roles.client(PaymentRefundService, 'support')
  const { paymentId, cId } = deposit
  const owner = { merchantId: system.merchant_id, environment: Environment.TEST }
  const refundId = uuidv7()
  await refunds.reserveRefund({ ...owner, policy: {}, paymentCId: cId, refundId, cId: refundId, reason: '' })
  await refunds.approveRefund({ ...owner, paymentCId: cId, refundId })
  await eventually(
    async () => provider.transfers(),
    (count) => count === 2,
  )
  clock.stepWall(24 * HOUR_MS)
  const { anomalyId } = await anomalyOf(deposit, OPEN_TOO_LONG)
  const operator = system.roles.client(PaymentService, 'backoffice')
  const resolution = AnomalyResolutionKind.NOT_PAID
  await operator.resolveAnomaly({ anomalyId, resolution, operationId: 'op-1', note: 'it was stopped' })
  provider.settleHeld()
  clock.stepWall(HOUR_MS)
  expect(await anomalyOf(deposit, CONTRADICTS_FINAL_STATUS)).toMatchObject({ refundId })
  expect((await system.payment(paymentId)).status).toBe(SUCCESS)
})
