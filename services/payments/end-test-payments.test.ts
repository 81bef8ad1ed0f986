import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { AnomalyResolutionKind, PaymentStatus } from '#gen/multihub/payments/v1/payment_pb.ts'
import { PaymentService } from '#gen/multihub/payments/v1/payment_service_pb.ts'
import { useClock } from '#lib/base/time.ts'
import { PublicError } from '#lib/contract/errors/public-error.ts'
import type { TestDocument } from '#lib/store/test-end.ts'
import { createAdjustableClock } from '../../test/support/adjustable-clock.ts'
import { eventually } from '../../test/support/eventually.ts'
import { role as notifier } from '../notifier/service.ts'
import type { Operation } from '../sandbox/domain/operation.ts'
import { OPERATIONS } from '../sandbox/store/operations.ts'
import { operations } from './operations.ts'
import { type PaymentsSystem, startPayments } from './payments-system.fixture.ts'
import { PAYMENTS } from './store/payments.ts'

const { SUCCESS, PROCESSING } = PaymentStatus
const DAY_MS = 86_400_000
/** The last three digits make the sandbox pay at once, never, and report another amount first. */
const [PAID, UNPAID, OTHER_AMOUNT] = [1_000_908n, 1_000_905n, 1_000_909n]

const clock = createAdjustableClock()
let restoreClock: () => void
let system: PaymentsSystem
const operator = () => system.roles.client(PaymentService, 'backoffice')

beforeAll(async () => {
  // The walks that delete come once a minute: here they come at once.
  const after: typeof clock.after = (delay_ms, action) =>
    clock.after(delay_ms === 60_000 ? 50 : delay_ms, action)
  restoreClock = useClock({ ...clock, after })
  system = await startPayments({ notifier, variables: { MULTIHUB_TEST_RETENTION: '7d' } })
})
afterAll(async () => {
  await system[Symbol.asyncDispose]()
  restoreClock()
})

/** Waits until nothing of a payment is left to do: its retention begins then. */
async function hasEnded(payment_id: string): Promise<void> {
  const stored = await system.roles.storeOf('payments').collection<TestDocument>(PAYMENTS)
  await eventually(
    () => stored.find('by_id', { equals: [payment_id] }, { limit: 1 }),
    (found) => found?.[0]?.test_ended_at !== undefined,
  )
}

/** The code with which the operator's read of a payment is refused; 0 when it is shown. */
async function codeOf(payment_id: string): Promise<number> {
  try {
    await system.payment(payment_id)
    return 0
  } catch (error) {
    return error instanceof PublicError ? error.code : -1
  }
}

const isGone = (payment_id: string) =>
  eventually(
    () => codeOf(payment_id),
    (code) => code === 6010,
  )

const entriesOf = (payment_id: string) =>
  eventually(
    () => system.entries(payment_id),
    (entries) => entries?.length === 1,
  )

/** The operation of a payment at the sandbox, by the key that payments sends. */
async function operationOf(payment_id: string) {
  const stored = await system.roles.storeOf('sandbox').collection<Operation>(OPERATIONS)
  return await stored.get({ idempotency_key: `${payment_id}:1`, account_id: 'sandbox' })
}

// O25
test('a payment that has ended is deleted after the retention, and its c_id makes another payment', async () => {
  const { paymentId: first } = await system.deposit(PAID, { c_id: 'again' })
  await hasEnded(first)
  const entries = await entriesOf(first)
  await expect(system.deposit(PAID, { c_id: 'again' })).rejects.toMatchObject({ code: 6009 })
  clock.stepWall(6 * DAY_MS)
  const { paymentId: recent } = await system.deposit(PAID)
  await system.waitForStatus(recent, SUCCESS)
  clock.stepWall(2 * DAY_MS)
  await isGone(first)
  expect(await codeOf(recent)).toBe(0)

  const { paymentId: second } = await system.deposit(PAID, { c_id: 'again' })
  await system.waitForStatus(second, SUCCESS)
  expect(second).not.toBe(first)
  const [before, after] = [await operationOf(first), await operationOf(second)]
  expect(before?.provider_id).toEqual(expect.any(String))
  expect(after?.provider_id).toEqual(expect.any(String))
  expect(after?.provider_id).not.toBe(before?.provider_id)
  const [entry] = await entriesOf(second)
  expect(entry?.entryId).not.toBe(entries[0]?.entryId)
  // The ledger keeps the entries of the first one.
  expect(await system.entries(first)).toEqual(entries)
  expect((await system.balance()).available).toBe(3n * PAID)
})

// O25
test('what is open stays, persons are erased from callbacks first, and an anomaly can be dismissed afterwards', async () => {
  await system.fund(UNPAID)
  const open = await system.withdraw(UNPAID)
  await system.waitForStatus(open.paymentId, PROCESSING)
  const anomalyOf = async () => {
    const { paymentId } = await system.deposit(OTHER_AMOUNT)
    await hasEnded(paymentId)
    const [anomaly] = await eventually(
      () => system.anomalies(paymentId),
      (found) => found?.length === 1,
    )
    return { paymentId, anomalyId: anomaly?.anomalyId ?? '' }
  }
  const [resolved, unresolved] = [await anomalyOf(), await anomalyOf()]
  const dismiss = (anomalyId: string) =>
    operator().resolveAnomaly({
      anomalyId,
      resolution: AnomalyResolutionKind.DISMISSED,
      operationId: 'op',
      note: '',
    })
  await dismiss(resolved.anomalyId)
  await expect(system.withdraw(10n ** 12n)).rejects.toMatchObject({ code: 6004 })
  const refusals = () => operator().listWithdrawalRefusals({ merchantId: system.merchant_id })
  await eventually(refusals, (page) => page?.refusals.length === 1)
  // The person of a payment is erased from its callbacks first: afterwards nothing names them.
  system.roles.setStoreUnavailable('notifier', true)
  clock.stepWall(8 * DAY_MS)
  await eventually(refusals, (page) => page?.refusals.length === 0)
  expect([await codeOf(resolved.paymentId), await codeOf(unresolved.paymentId)]).toEqual([0, 0])
  system.roles.setStoreUnavailable('notifier', false)
  await isGone(resolved.paymentId)
  await isGone(unresolved.paymentId)
  await eventually(
    () => system.anomalies(resolved.paymentId),
    (found) => found?.length === 0,
  )
  expect(await codeOf(open.paymentId)).toBe(0)
  expect(await system.anomalies(unresolved.paymentId)).toMatchObject([{ anomalyId: unresolved.anomalyId }])
  await dismiss(unresolved.anomalyId)
})

// O25
test('a check of the data does not miss a payment of the test environment after 7 days', async () => {
  const store = system.roles.storeOf('payments')
  const nothing = async function* () {}
  const check = await operations.checkData?.(store, nothing, {}, system.roles.keys)
  const required = { role: 'payments', merchant_id: system.merchant_id, id: 'gone', subject: 'it' } as const
  const daysAgo = (days: number) => new Date(clock.now_ms() - days * DAY_MS)
  const find = (environment: string, days: number) =>
    check?.find?.({ ...required, environment, at: daysAgo(days) })
  expect(await find('test', 8)).toBe('found')
  expect(await find('test', 6)).toBe('missing')
  expect(await find('production', 4_000)).toBe('missing')
})
