import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from '@jest/globals'
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
import { testKeys } from '#lib/base/crypto/keys.fixture.ts'
import { uuidv7 } from '#lib/base/ids.ts'
import { useClock } from '#lib/base/time.ts'
import { openStore } from '#lib/store/open.ts'
import { createAdjustableClock } from '../../test/support/adjustable-clock.ts'
import { eventually } from '../../test/support/eventually.ts'
import { HANG_LIMIT_MS } from '../../test/support/hang-limit.ts'
import { type PaymentsSystem, startPayments } from './payments-system.fixture.ts'
import { startProvider } from './scripted-provider.fixture.ts'
import { openPaymentsStore } from './store/payments-store.ts'

const AMOUNT = 1_000_000n

/** The open anomalies about accounts. */
async function movedAccounts({ roles }: PaymentsSystem): Promise<readonly Anomaly[]> {
  const { anomalies } = await roles.client(PaymentService, 'backoffice').listAnomalies({ openOnly: true })
  return anomalies.filter(({ kind }) => kind === AnomalyKind.ACCOUNT_MOVED)
}

/** Begins a refund of a whole deposit. Returns the function that approves it. */
async function requestRefund({ roles }: PaymentsSystem, { merchantId, cId }: Payment) {
  const refunds = roles.client(PaymentRefundService, 'support')
  const owner = { merchantId, environment: Environment.TEST, paymentCId: cId }
  const refundId = uuidv7()
  await refunds.reserveRefund({ ...owner, policy: {}, refundId, cId: refundId, reason: '' })
  return () => refunds.approveRefund({ ...owner, refundId })
}

/** A deposit that was paid in a system which then stopped. */
async function paidBefore(directory: string, account: string): Promise<Payment> {
  await using before = await startPayments({ directory })
  before.provider.answer('success')
  const { paymentId } = await before.deposit(AMOUNT, { accounts: [account] })
  return await before.waitForStatus(paymentId, PaymentStatus.SUCCESS)
}

// P4
test('the sandbox of this process is the same provider after a restart, at whatever free port it listens', async () => {
  const directory = await mkdtemp(join(tmpdir(), 'multihub-moved-'))
  try {
    const deposit = await paidBefore(directory, 'sandbox')
    await using system = await startPayments({ directory })
    const approve = await requestRefund(system, deposit)
    await approve()
    await system.waitForStatus(deposit.paymentId, PaymentStatus.REFUNDED)
    expect(await movedAccounts(system)).toEqual([])
  } finally {
    await rm(directory, { recursive: true, force: true })
  }
})

// P19
test('what an account was at first is known from the first start on, also when it moves', async () => {
  const directory = await mkdtemp(join(tmpdir(), 'multihub-moved-'))
  try {
    const knownOf = async (base_url: string) => {
      const key = 'the-key-of-the-account-bank-0123456789-0123456789'
      const bank = { connector: 'sandbox', environment: 'test', account_id: 'bank', base_url, key } as const
      const system = await startPayments({ directory, accounts: [bank] })
      await system[Symbol.asyncDispose]()
      const opened = await openStore({ database: 'payments', directory, timeout_ms: HANG_LIMIT_MS })
      const { known_accounts } = await openPaymentsStore(opened, testKeys())
      const known = await known_accounts.get({ account_id: 'bank' })
      await opened.close()
      return known
    }
    const first = await knownOf('http://127.0.0.1:1')
    expect(first?.fingerprint).toMatch(/^[0-9a-f]{32}$/)
    expect(await knownOf('http://127.0.0.1:2')).toEqual(first)
  } finally {
    await rm(directory, { recursive: true, force: true })
  }
})

// P4
test('a refund is not approved while the account of its deposit is another one', async () => {
  const directory = await mkdtemp(join(tmpdir(), 'multihub-moved-'))
  try {
    const deposit = await paidBefore(directory, 'acme')
    await using system = await startPayments({ directory })
    system.provider.answer('success')
    const approve = await requestRefund(system, deposit)
    await expect(approve()).rejects.toMatchObject({
      code: 8801,
      details: { description: 'the provider account acme has moved' },
    })
    expect(await movedAccounts(system)).toHaveLength(1)
    expect(system.provider.orders()).toBe(0)
    const accounts = system.roles.client(ProviderAccountService, 'backoffice')
    await accounts.confirmAccountMoved({ accountId: 'acme', operationId: 'op-1' })
    await approve()
    await system.waitForStatus(deposit.paymentId, PaymentStatus.REFUNDED)
  } finally {
    await rm(directory, { recursive: true, force: true })
  }
})

// P4
test('the anomaly about a moved account is open again a minute after its dismissal, while the account stays moved', async () => {
  const directory = await mkdtemp(join(tmpdir(), 'multihub-moved-'))
  const clock = createAdjustableClock()
  const restoreClock = useClock(clock)
  try {
    const deposit = await paidBefore(directory, 'acme')
    await using system = await startPayments({ directory })
    const approve = await requestRefund(system, deposit)
    const expectRefused = () => expect(approve()).rejects.toMatchObject({ code: 8801 })
    await expectRefused()
    const [anomaly] = await movedAccounts(system)
    const dismissal = { anomalyId: anomaly?.anomalyId ?? '', resolution: AnomalyResolutionKind.DISMISSED }
    const operator = system.roles.client(PaymentService, 'backoffice')
    for (const operationId of ['by mistake', 'again']) {
      await operator.resolveAnomaly({ ...dismissal, operationId, note: '' })
      clock.stepWall(30_000)
      await expectRefused()
      expect(await movedAccounts(system)).toEqual([])
      clock.stepWall(31_000)
      await expectRefused()
      const { createTime } = anomaly ?? {}
      expect(await movedAccounts(system)).toMatchObject([{ anomalyId: dismissal.anomalyId, createTime }])
    }
    const accounts = system.roles.client(ProviderAccountService, 'backoffice')
    await accounts.confirmAccountMoved({ accountId: 'acme', operationId: 'op-1' })
    clock.stepWall(61_000)
    system.provider.answer('success')
    await approve()
    await system.waitForStatus(deposit.paymentId, PaymentStatus.REFUNDED)
    expect(await movedAccounts(system)).toEqual([])
  } finally {
    restoreClock()
    await rm(directory, { recursive: true, force: true })
  }
})

// P4
test('a payout is not sent to what its account has become, until the operator confirms the account', async () => {
  const directory = await mkdtemp(join(tmpdir(), 'multihub-moved-'))
  try {
    const before = await startPayments({ directory })
    before.provider.stopAnswering()
    await before.fund(10n * AMOUNT)
    const creating = Promise.all(
      ['one', 'two'].map((c_id) => before.withdraw(AMOUNT, { c_id, accounts: ['acme'] })),
    )
    await before.provider.order(2)
    before.roles.announceStop()
    const created = await creating
    await before[Symbol.asyncDispose]()

    // Another provider at another URL, with the same name and the same key.
    await using system = await startPayments({ directory })
    const { provider } = system
    provider.answer('success')
    const [anomaly, second] = await eventually(
      () => movedAccounts(system),
      (found) => found?.length === 1,
    )
    expect(second).toBeUndefined()
    expect(anomaly).toMatchObject({ merchantId: '', paymentId: '' })
    expect(anomaly?.description).toContain('acme')
    const keys = created.map(({ paymentId }) => `${paymentId}:1`)
    for (const idempotency_key of keys) await provider.polled({ idempotency_key }, 3)
    expect(provider.orders()).toBe(0)
    for (const { paymentId } of created)
      expect((await system.payment(paymentId)).status).toBe(PaymentStatus.PROCESSING)

    const accounts = system.roles.client(ProviderAccountService, 'backoffice')
    await expect(accounts.confirmAccountMoved({ accountId: 'acme' })).rejects.toMatchObject({ code: 1005 })
    for (const accountId of ['nobody', ''])
      await expect(accounts.confirmAccountMoved({ accountId, operationId: 'op' })).rejects.toBeDefined()
    for (const _ of [1, 2]) {
      const { account } = await accounts.confirmAccountMoved({ accountId: 'acme', operationId: 'op-1' })
      expect(account).toMatchObject({ accountId: 'acme' })
    }
    expect(await movedAccounts(system)).toEqual([])
    for (const { paymentId } of created) await system.waitForStatus(paymentId, PaymentStatus.SUCCESS)
    expect(provider.orders()).toBe(2)
  } finally {
    await rm(directory, { recursive: true, force: true })
  }
})

// P4
test('a payout that was sent to a confirmed account is not sent where the account moves back to, until that is confirmed', async () => {
  const directory = await mkdtemp(join(tmpdir(), 'multihub-moved-back-'))
  const first = await startProvider()
  const second = await startProvider()
  const key = 'the-key-of-the-account-bank-0123456789-0123456789'
  const startAt = (base_url: string): Promise<PaymentsSystem> =>
    startPayments({
      directory,
      accounts: [{ connector: 'sandbox', environment: 'test', account_id: 'bank', base_url, key }],
    })
  const confirm = ({ roles }: PaymentsSystem, operationId: string) =>
    roles.client(ProviderAccountService, 'backoffice').confirmAccountMoved({ accountId: 'bank', operationId })
  try {
    // Each provider loses what it is sent, and does not answer: a lookup finds nothing there.
    for (const provider of [first, second]) {
      provider.stopAnswering()
      provider.forget()
    }
    const before = await startAt(first.url)
    await before.fund(10n * AMOUNT)
    const creating = before.withdraw(AMOUNT, { accounts: ['bank'] })
    await first.order(1)
    before.roles.announceStop()
    const { paymentId } = await creating
    const idempotency_key = `${paymentId}:1`
    await before[Symbol.asyncDispose]()

    const moved = await startAt(second.url)
    await eventually(
      () => movedAccounts(moved),
      (found) => found?.length === 1,
    )
    await confirm(moved, 'op-1')
    await second.order(1)
    moved.roles.announceStop()
    await moved[Symbol.asyncDispose]()
    const sent = [first.orders(), second.orders()]
    expect(sent).toEqual([1, 1])

    await using back = await startAt(first.url)
    await eventually(
      () => movedAccounts(back),
      (found) => found?.length === 1,
    )
    await first.polled({ idempotency_key }, 3)
    expect([first.orders(), second.orders()]).toEqual(sent)
    await confirm(back, 'op-2')
    await first.order(2)
    expect(second.orders()).toBe(1)
    back.roles.announceStop()
  } finally {
    await first.stop()
    await second.stop()
    await rm(directory, { recursive: true, force: true })
  }
}, 90_000)
