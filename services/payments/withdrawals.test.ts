import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { LedgerEntryKind } from '#gen/multihub/balances/v1/balance_pb.ts'
import { Environment } from '#gen/multihub/common/v1/environment_pb.ts'
import {
  AnomalyKind,
  OperationType,
  type Payment,
  PaymentStatus,
} from '#gen/multihub/payments/v1/payment_pb.ts'
import { PaymentService } from '#gen/multihub/payments/v1/payment_service_pb.ts'
import { randomHex } from '#lib/base/crypto/random.ts'
import { PublicError } from '#lib/contract/errors/public-error.ts'
import { eventually } from '../../test/support/eventually.ts'
import { type PaymentsSystem, startPayments, statusesOf } from './payments-system.fixture.ts'

const { SUCCESS, ERROR, CANCELED, PROCESSING } = PaymentStatus
const { HOLD, CAPTURE, RELEASE } = LedgerEntryKind
const AMOUNT = 1_000_000n

let system: PaymentsSystem
beforeAll(async () => {
  system = await startPayments()
  await system.fund(1_000_000_000n)
})
afterAll(async () => {
  await system[Symbol.asyncDispose]()
})

const kindsOf = async (payment_id: string): Promise<LedgerEntryKind[]> =>
  (await system.entries(payment_id)).map(({ kind }) => kind).toSorted()

/** Waits for the event of the end, which follows the ledger entry, and checks that nothing happened twice. */
async function expectEndedOnce(payment: Payment, event: string, resolution: LedgerEntryKind): Promise<void> {
  const events = await system.events(payment.paymentId, 2)
  expect(events.map((one) => one.event)).toEqual(['payment.created', event])
  expect(await kindsOf(payment.paymentId)).toEqual([HOLD, resolution].toSorted())
  const statuses = statusesOf(await system.payment(payment.paymentId))
  expect(new Set(statuses).size).toBe(statuses.length)
}

/** The codes of the refusals, and the accepted payments, of requests that were made together. */
async function outcomesOf(
  requests: readonly Promise<Payment>[],
): Promise<{ accepted: Payment[]; codes: unknown[] }> {
  const results = await Promise.allSettled(requests)
  const accepted = results.flatMap((one) => (one.status === 'fulfilled' ? [one.value] : []))
  const refused = results.flatMap((one) => (one.status === 'rejected' ? [one.reason] : []))
  return { accepted, codes: refused.map((error) => (error instanceof PublicError ? error.code : error)) }
}

/** The merchant's records of refused withdrawals. */
async function refusals() {
  const operator = system.roles.client(PaymentService, 'backoffice')
  const page = await operator.listWithdrawalRefusals({ merchantId: system.merchant_id, pageSize: 100 })
  return page.refusals
}

// B1, P9
test('a withdrawal holds its amount, and takes it for good before the event of its success', async () => {
  const { provider } = system
  provider.answer('pending')
  const before = await system.balance()
  const created = await system.withdraw(AMOUNT, { accounts: ['acme'] })
  expect(statusesOf(created)).toEqual(['CREATED', 'PROCESSING'])
  const available = before.available - AMOUNT
  expect(await system.balance()).toEqual({ available, held: before.held + AMOUNT })
  expect(await provider.report(await provider.order(provider.orders()))).toBe(200)
  await expectEndedOnce(created, 'payment.completed', CAPTURE)
  expect(await system.balance()).toEqual({ available, held: before.held })
})

describe('a withdrawal in the sandbox', () => {
  // P11, P13
  test('echoes the account of the recipient, and is paid', async () => {
    const created = await system.withdraw(AMOUNT)
    expect(created).toMatchObject({
      receiver: { bankAccount: { id: '123456789012' } },
      operations: [{ type: OperationType.WITHDRAWAL }],
    })
    expect(created.receiver?.bank).toBeUndefined()
    const paid = await system.waitForStatus(created.paymentId, SUCCESS)
    expect(paid.utr).toBeDefined()
    await expectEndedOnce(created, 'payment.completed', CAPTURE)
  })

  test.each([
    [901, ERROR, 6044, 'payment.failed'],
    [902, ERROR, 6044, 'payment.failed'],
    [906, CANCELED, 6034, 'payment.cancelled'],
    [907, ERROR, 7001, 'payment.failed'],
  ])(
    'with an amount that ends in %d fails, and gives its amount back',
    async (digits, status, error, event) => {
      const before = await system.balance()
      const created = await system.withdraw(AMOUNT + BigInt(digits))
      expect(await system.waitForStatus(created.paymentId, status)).toMatchObject({ errorCode: error })
      await expectEndedOnce(created, event, RELEASE)
      expect(await system.balance()).toEqual(before)
    },
  )

  test('is completed by polling without a callback, also after a failed create', async () => {
    const digits = [903n, 904n, 910n, 913n, 915n]
    const created = await Promise.all(digits.map((ending) => system.withdraw(AMOUNT + ending)))
    expect(created.map(({ status }) => status)).toEqual(digits.map(() => PROCESSING))
    for (const payment of created) {
      await system.waitForStatus(payment.paymentId, SUCCESS)
      await expectEndedOnce(payment, 'payment.completed', CAPTURE)
    }
  })

  test('is paid once when callbacks come out of order, and when it succeeds at once', async () => {
    for (const digits of [908n, 909n]) {
      const payment = await system.withdraw(AMOUNT + digits)
      await system.waitForStatus(payment.paymentId, SUCCESS)
      await expectEndedOnce(payment, 'payment.completed', CAPTURE)
    }
  })

  test('fails with 7002 when no account can be reached, and uses the next account when there is one', async () => {
    const before = await system.balance()
    const failed = await system.withdraw(AMOUNT, { accounts: ['sandbox-down'] })
    expect(failed).toMatchObject({ status: ERROR, errorCode: 7002 })
    await expectEndedOnce(failed, 'payment.failed', RELEASE)
    expect(await system.balance()).toEqual(before)
    const moved = await system.withdraw(AMOUNT, { accounts: ['sandbox-down', 'sandbox'] })
    await system.waitForStatus(moved.paymentId, SUCCESS)
    await expectEndedOnce(moved, 'payment.completed', CAPTURE)
  })
})

describe('a withdrawal above the balance', () => {
  // P3, E14
  test('is refused with 6004 and leaves a record, a refused entry and nothing else', async () => {
    const before = await system.balance()
    const c_id = randomHex(8)
    const refused = system.withdraw(before.available + 1n, { c_id })
    await expect(refused).rejects.toMatchObject({ code: 6004 })
    expect(await system.balance()).toEqual(before)
    const [record] = await refusals()
    expect(record).toMatchObject({
      cId: c_id,
      environment: Environment.TEST,
      amount: { minor: before.available + 1n, currency: 'INR' },
      errorCode: 6004,
    })
    const payment_id = record?.paymentId ?? ''
    await expect(system.payment(payment_id)).rejects.toMatchObject({ code: 6010 })
    expect(await system.entries(payment_id)).toMatchObject([{ kind: HOLD, refusedCode: 6004 }])
    const operator = system.roles.client(PaymentService, 'backoffice')
    const { payments } = await operator.listPayments({ merchantId: system.merchant_id, pageSize: 100 })
    expect(payments.map(({ cId }) => cId)).not.toContain(c_id)
  })

  // P3
  test('is refused again with 6004 when it is repeated with funds; another request gets its c_id', async () => {
    const { available } = await system.balance()
    const request = { c_id: randomHex(8) }
    const amount = (available / 1_000n + 2n) * 1_000n + 908n
    await expect(system.withdraw(amount, request)).rejects.toMatchObject({ code: 6004 })
    await system.fund(amount - available)
    await expect(system.withdraw(amount, request)).rejects.toMatchObject({ code: 6004 })
    const paid = await system.withdraw(amount, { ...request, request: { payloadHash: 'another request' } })
    await expectEndedOnce(paid, 'payment.completed', CAPTURE)
    await expect(system.withdraw(amount, request)).rejects.toMatchObject({ code: 6009 })
    await system.fund(available)
  })
})

// P3
test('a withdrawal that the ledger has not decided has no status and is in no list until it is admitted', async () => {
  const serviceId = await system.withdrawalRoute()
  const owner = { merchantId: system.merchant_id, environment: Environment.TEST }
  const c_id = randomHex(8)
  const gateway = system.roles.client(PaymentService, 'gateway')
  const errorOfStatus = (): Promise<unknown> =>
    gateway.findPayment({ ...owner, policy: {}, cId: c_id }, { timeoutMs: 1_000 }).then(
      () => undefined,
      (error: unknown) => error,
    )
  const operator = system.roles.client(PaymentService, 'backoffice')
  const isListed = async (): Promise<boolean> => {
    const { payments } = await operator.listPayments({ merchantId: system.merchant_id, pageSize: 100 })
    return payments.some(({ cId }) => cId === c_id)
  }
  system.roles.setStoreUnavailable('balances', true)
  const created = system.withdraw(AMOUNT, { c_id, request: { serviceId } }).catch(() => undefined)
  // It is stored as soon as its status is not 6010 any more.
  await eventually(errorOfStatus, (error) => error instanceof PublicError && error.code !== 6010)
  expect(await isListed()).toBe(false)
  system.roles.setStoreUnavailable('balances', false)
  await created
  await eventually(isListed, (listed) => listed === true)
  expect(await errorOfStatus()).toBeUndefined()
})

describe('a withdrawal beyond a limit of its route', () => {
  const limited = (payoutLimits: object): Promise<string> =>
    system.withdrawalRoute({ route: { payoutLimits } })

  // P14
  test.each([
    ['the minimum of one', { minimum: AMOUNT + 1n }, 6001],
    ['the maximum of one', { maximum: AMOUNT - 1n }, 6035],
    ['the day', { daily: AMOUNT - 1n }, 6006],
    ['the month', { monthly: AMOUNT - 1n }, 6005],
    ['the settlement period', { sinceSettlement: AMOUNT - 1n }, 6035],
  ])('for %s is refused, and the amount at the limit is accepted', async (_name, payoutLimits, code) => {
    const serviceId = await limited(payoutLimits)
    await expect(system.withdraw(AMOUNT, { request: { serviceId } })).rejects.toMatchObject({ code })
    const [limit = 0n] = Object.values(payoutLimits)
    const accepted = await system.withdraw(limit, { request: { serviceId } })
    expect(accepted.history.length).toBeGreaterThan(0)
  })

  // P14
  test('at once with others: exactly as many are accepted as the limit allows', async () => {
    // Not the limit of a day or month, because the requests can be made around midnight.
    const serviceId = await limited({ sinceSettlement: 10n * AMOUNT })
    const requests = Array.from({ length: 30 }, () => system.withdraw(AMOUNT, { request: { serviceId } }))
    const { accepted, codes } = await outcomesOf(requests)
    expect(accepted).toHaveLength(10)
    expect(codes).toEqual(Array.from({ length: 20 }, () => 6035))
  })

  // P14
  test('is accepted when one that was counted has failed', async () => {
    const serviceId = await limited({ daily: AMOUNT + 901n, monthly: AMOUNT + 901n })
    const failed = await system.withdraw(AMOUNT + 901n, { request: { serviceId } })
    await expectEndedOnce(failed, 'payment.failed', RELEASE)
    const paid = await system.withdraw(AMOUNT + 901n, { request: { serviceId } })
    expect(paid).toMatchObject({ status: ERROR, errorCode: 6044 })
  })
})

describe('many withdrawals at once', () => {
  test('above the balance: exactly as many are accepted as the balance pays for', async () => {
    const serviceId = await system.withdrawalRoute()
    // The withdrawals of earlier tests may not have ended yet.
    const { available } = await eventually(
      () => system.balance(),
      (balance) => balance?.held === 0n,
    )
    const amount = (available / 7_000n) * 1_000n
    const requests = Array.from({ length: 30 }, () => system.withdraw(amount, { request: { serviceId } }))
    const { accepted, codes } = await outcomesOf(requests)
    expect(accepted).toHaveLength(Number(available / amount))
    expect(codes).toEqual(Array.from({ length: 30 - accepted.length }, () => 6004))
    const left = available - amount * BigInt(accepted.length)
    const { available: available_after, held: held_after } = await system.balance()
    expect(available_after).toBe(left)
    expect(held_after).toBeLessThanOrEqual(amount * BigInt(accepted.length))
    for (const payment of accepted) await system.waitForStatus(payment.paymentId, SUCCESS)
    await eventually(
      () => system.balance(),
      (balance) => balance?.held === 0n,
    )
    await system.fund(1_000_000_000n)
  })

  // P2, E11
  test('with one c_id are one payment and one request to the provider', async () => {
    const { provider } = system
    provider.answer('pending')
    const orders = provider.orders()
    const serviceId = await system.withdrawalRoute({ accounts: ['acme'] })
    const c_id = randomHex(8)
    const requests = Array.from({ length: 50 }, () =>
      system.withdraw(AMOUNT, { c_id, request: { serviceId } }),
    )
    const { accepted, codes } = await outcomesOf(requests)
    expect(accepted).toHaveLength(1)
    expect(new Set(codes)).toEqual(new Set([6009]))
    expect(provider.orders() - orders).toBe(1)
    expect(await kindsOf(accepted[0]?.paymentId ?? '')).toEqual([HOLD])
  })

  // P2
  test('and deposits with one c_id are one payment', async () => {
    const c_id = randomHex(8)
    const requests = Array.from({ length: 20 }, (_, index) =>
      index % 2 === 0 ? system.withdraw(AMOUNT + 908n, { c_id }) : system.deposit(AMOUNT + 908n, { c_id }),
    )
    const { accepted, codes } = await outcomesOf(requests)
    expect(accepted).toHaveLength(1)
    expect(new Set(codes)).toEqual(new Set([6009]))
  })

  test('with one c_id above the balance are all refused with 6004, and free the c_id', async () => {
    const { available } = await system.balance()
    const c_id = randomHex(8)
    const requests = Array.from({ length: 10 }, () => system.withdraw(available + 1n, { c_id }))
    const { accepted, codes } = await outcomesOf(requests)
    expect(accepted).toEqual([])
    expect(new Set(codes)).toEqual(new Set([6004]))
    const other = { c_id, request: { payloadHash: 'another request' } }
    expect(await system.withdraw(AMOUNT + 908n, other)).toMatchObject({ status: SUCCESS })
  })
})

describe('a callback about a withdrawal', () => {
  test('that comes 20 times at once, with a poll and the response, captures once and has one event', async () => {
    const { provider } = system
    provider.stopAnswering()
    const count = provider.orders() + 1
    const created = system.withdraw(AMOUNT, { accounts: ['acme'] })
    const order = await provider.order(count)
    expect(order).toMatchObject({
      kind: 'withdrawal',
      beneficiary: { account_id: '123456789012', ifsc: 'SBIN0001234' },
    })
    expect(await provider.report(order, { status: 'pending' })).toBe(200)
    await provider.polled(order)
    const reports = Array.from({ length: 20 }, () => provider.report(order))
    provider.answer('success')
    expect(new Set(await Promise.all(reports))).toEqual(new Set([200]))
    const payment = await created
    await system.waitForStatus(payment.paymentId, SUCCESS)
    await expectEndedOnce(payment, 'payment.completed', CAPTURE)
    expect(await system.anomalies(payment.paymentId)).toEqual([])
  })

  test('as a deposit, or after the end with another outcome, moves no money', async () => {
    const { provider } = system
    provider.answer('pending')
    const payment = await system.withdraw(AMOUNT, { accounts: ['acme'] })
    const order = await provider.order(provider.orders())
    expect(await provider.report({ ...order, kind: 'deposit' })).toBe(404)
    expect(await provider.report(order, { status: 'declined' })).toBe(200)
    expect(await provider.report(order)).toBe(200)
    const anomalies = await eventually(
      () => system.anomalies(payment.paymentId),
      (found) => found?.length === 2,
    )
    expect(new Set(anomalies.map(({ kind }) => kind))).toEqual(
      new Set([AnomalyKind.UNMATCHED_REPORT, AnomalyKind.CONTRADICTS_FINAL_STATUS]),
    )
    await expectEndedOnce(payment, 'payment.failed', RELEASE)
  })
})

// P7
test.each(['declined', 'canceled'])('a withdrawal %s with another amount keeps its hold', async (status) => {
  const { provider } = system
  provider.answer('pending')
  const payment = await system.withdraw(AMOUNT, { accounts: ['acme'] })
  const order = await provider.order(provider.orders())
  expect(await provider.report(order, { status, amount: order.amount - 1 })).toBe(200)
  const anomalies = await eventually(
    () => system.anomalies(payment.paymentId),
    (found) => found?.length === 1,
  )
  expect(anomalies.map(({ kind }) => kind)).toEqual([AnomalyKind.AMOUNT_DIFFERS])
  expect(await system.payment(payment.paymentId)).toMatchObject({ status: PROCESSING })
  expect(await kindsOf(payment.paymentId)).toEqual([HOLD])
  expect(await provider.report(order)).toBe(200)
  await expectEndedOnce(payment, 'payment.completed', CAPTURE)
})

// P8
test('a withdrawal does not expire', async () => {
  const payment = await system.withdraw(AMOUNT + 905n, { expires_in_seconds: 1 })
  const deposit = await system.deposit(AMOUNT + 905n, { expires_in_seconds: 1 })
  await system.waitForStatus(deposit.paymentId, PaymentStatus.DECLINED)
  expect(await system.payment(payment.paymentId)).toMatchObject({ status: PROCESSING })
  expect(await kindsOf(payment.paymentId)).toEqual([HOLD])
})
