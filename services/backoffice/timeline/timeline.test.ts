import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { BalanceService } from '#gen/multihub/balances/v1/balance_service_pb.ts'
import { Environment } from '#gen/multihub/common/v1/environment_pb.ts'
import { MerchantService } from '#gen/multihub/merchants/v1/merchant_service_pb.ts'
import type { Payment } from '#gen/multihub/payments/v1/payment_pb.ts'
import { MerchantRefundService } from '#gen/multihub/support/v1/merchant_refund_service_pb.ts'
import { randomHex } from '#lib/base/crypto/random.ts'
import { uuidv7 } from '#lib/base/ids.ts'
import { eventually } from '../../../test/support/eventually.ts'
import { role as notifier } from '../../notifier/service.ts'
import { type PaymentsSystem, startPayments } from '../../payments/payments-system.fixture.ts'
import { role as support } from '../../support/service.ts'
import { DOOR_VARIABLES, doorOf, type TestDoor } from '../backoffice.fixture.ts'
import { role as backoffice } from '../service.ts'

const TIMELINE = 'multihub.backoffice.v1.TimelineService/GetTimeline'
const APPROVE = 'multihub.support.v1.RefundService/ApproveRefund'
const ADJUST = 'multihub.balances.v1.BalanceService/Adjust'

let system: PaymentsSystem
let door: TestDoor
let reader: { readonly id: string; readonly token: string }
beforeAll(async () => {
  const others = [support, backoffice]
  system = await startPayments({ notifier, others, variables: DOOR_VARIABLES })
  door = doorOf(system.roles)
  reader = await door.newPrincipal(['read'])
})
afterAll(async () => system[Symbol.asyncDispose]())

// biome-ignore lint/suspicious/noExplicitAny: a test reads any part of a timeline
async function timelineOf({ paymentId }: Payment, token = reader.token, more: object = {}): Promise<any> {
  const { status, body } = await door.call(token, TIMELINE, { paymentId, ...more })
  expect(status).toBe(200)
  return body
}

interface Row {
  readonly kind: string
  readonly title: string
}

const titlesOf = ({ rows }: { readonly rows: readonly Row[] }, kind: string): string[] =>
  rows.filter((row) => row.kind === kind).map(({ title }) => title)

const paid = (): Promise<Payment> => system.deposit(1_000_908n)

/** A payment whose ledger entry is posted. */
async function credited(): Promise<Payment> {
  const payment = await paid()
  await eventually(
    () => timelineOf(payment),
    (timeline) => titlesOf(timeline, 'ledger_entry').length > 0,
  )
  return payment
}

const requestRefund = (payment: Payment, amount: bigint, reason = '') =>
  system.roles.client(MerchantRefundService, 'gateway').requestRefund({
    merchantId: system.merchant_id,
    environment: Environment.TEST,
    policy: {},
    cId: randomHex(8),
    payloadHash: 'a hash',
    payment: { case: 'paymentHId', value: payment.hId },
    amount,
    reason,
  })

// O7
test('a payout shows its hold and its capture, with the balances after them', async () => {
  await system.fund(5_000_000n)
  const payout = await system.withdraw(1_000_908n)
  const timeline = await eventually(
    () => timelineOf(payout),
    (read) => titlesOf(read, 'ledger_entry').length === 2 && read?.next === undefined,
  )
  expect(titlesOf(timeline, 'status')[0]).toBe('Payment created: payout of 10,009.08 INR by imps')
  expect(titlesOf(timeline, 'ledger_entry')).toEqual([
    expect.stringMatching(
      /^Ledger: 10,009\.08 INR held for the withdrawal\. Available after it [\d,]+\.\d\d INR, held 10,009\.08 INR$/,
    ),
    expect.stringMatching(/^Ledger: 10,009\.08 INR that was held has been taken\. .* held 0\.00 INR$/),
  ])
  expect(timeline.pending).toEqual([])
})

// O7
test('a payment whose provider has not decided says when the provider is asked, and then when it expires', async () => {
  const { next, pending } = await timelineOf(await system.deposit(1_000_905n))
  expect(next).toMatchObject({
    title: 'the provider is asked for its status',
    waitsFor: 'system',
    time: expect.any(String),
  })
  expect(pending.map(({ waitsFor }: { waitsFor: string }) => waitsFor)).toContain('customer')
})

// O7
test.each([
  ['balances', 'ledger_entry'],
  ['notifier', 'delivery'],
  ['support', 'chargeback'],
])('without %s the rest is shown with a mark', async (role, kind) => {
  const payment = await credited()
  system.roles.setStoreUnavailable(role, true)
  try {
    const timeline = await timelineOf(payment)
    expect(timeline.unavailable).toEqual([role])
    expect(titlesOf(timeline, kind)).toEqual([])
    expect(titlesOf(timeline, 'status')).toContain('Payment succeeded')
    expect(titlesOf(timeline, 'attempt')).toHaveLength(1)
  } finally {
    system.roles.setStoreUnavailable(role, false)
  }
  expect((await timelineOf(payment)).unavailable).toEqual([])
})

// O7
test('without payments there is nothing to show: it is named', async () => {
  const { paymentId } = await credited()
  system.roles.setStoreUnavailable('payments', true)
  try {
    expect(await door.call(reader.token, TIMELINE, { paymentId })).toMatchObject({
      status: 503,
      body: { code: 'unavailable', message: expect.stringContaining('payments is unavailable') },
    })
  } finally {
    system.roles.setStoreUnavailable('payments', false)
  }
})

// O7, O11
test('what identifies a person and the words of people are shown with reveal, which leaves an act', async () => {
  const payment = await credited()
  await requestRefund(payment, 100n, 'Asha returned the shoes')
  const masked = await eventually(
    () => timelineOf(payment),
    (read) => titlesOf(read, 'refund').length === 1,
  )
  expect(JSON.stringify(masked)).not.toMatch(/asha@example\.com|Asha/)
  const refused = await door.call(reader.token, TIMELINE, { paymentId: payment.paymentId, reveal: true })
  expect(refused).toMatchObject({ status: 403 })
  const revealer = await door.newPrincipal(['reveal'])
  const revealed = await eventually(
    () => timelineOf(payment, revealer.token, { reveal: true }),
    (read) => JSON.stringify(read).includes('Asha returned the shoes'),
  )
  expect(revealed.payment.details.payer.email).toBe('asha@example.com')
  const acts = titlesOf(await timelineOf(payment), 'operator_act')
  expect(acts).toContain('reveal called TimelineService/GetTimeline: done')
  expect(acts).toContain('read called TimelineService/GetTimeline: refused')
})

// O18: else the balance of one merchant would change for a payment of another one, whose timeline does not show it.
test('an adjustment names a payment of its own merchant and environment, by either id', async () => {
  const payment = await system.deposit(1_000_908n, { numeric_h_id: true })
  const { paymentId, hId } = payment
  expect(hId).toMatch(/^[0-9]{18}$/)
  const money = await door.newPrincipal(['money'])
  const adjust = (changes: object) =>
    door.call(money.token, ADJUST, {
      merchantId: system.merchant_id,
      environment: 'ENVIRONMENT_TEST',
      currency: 'INR',
      amount: { minor: '7' },
      reason: 'a correction',
      operationId: uuidv7(),
      paymentId,
      ...changes,
    })
  const { available } = await system.balance()
  const { merchant: other } = await system.roles.client(MerchantService, 'backoffice').createMerchant({
    name: 'another one',
    timezone: 'UTC',
    environments: [Environment.TEST],
    operationId: uuidv7(),
  })
  for (const changes of [{ merchantId: other?.merchantId }, { environment: 'ENVIRONMENT_PRODUCTION' }])
    expect(await adjust(changes)).toMatchObject({ status: 400, body: { message: 'Validation error' } })
  // Nobody can say whose payment it is.
  system.roles.setStoreUnavailable('payments', true)
  expect(await adjust({})).toMatchObject({ status: 503 })
  system.roles.setStoreUnavailable('payments', false)
  expect((await system.balance()).available).toBe(available)
  for (const id of [paymentId, hId])
    expect(await adjust({ paymentId: id })).toMatchObject({ body: { entry: { paymentId } } })
  const entries = titlesOf(await timelineOf(payment), 'ledger_entry')
  expect(entries.filter((title) => title.includes('0.07 INR'))).toHaveLength(2)
  // A restore can lose the payment of an entry, and one of the test environment is deleted.
  expect(await adjust({ paymentId: uuidv7() })).toMatchObject({ status: 200 })
})

// O15: else the ledger would begin accounts for a merchant that nobody has.
test('nothing is booked for a merchant that does not exist', async () => {
  const money = await door.newPrincipal(['money'])
  const scope = { merchantId: '4711', environment: 'ENVIRONMENT_TEST', currency: 'INR' }
  const act = { ...scope, reason: 'a slip', operationId: uuidv7() }
  expect(await door.call(money.token, ADJUST, { ...act, amount: { minor: '5' } })).toMatchObject({
    status: 404,
  })
  const settle = 'multihub.balances.v1.BalanceService/Settle'
  expect(await door.call(money.token, settle, act)).toMatchObject({ status: 404 })
  const owner = { merchantId: '4711', environment: Environment.TEST }
  const { entries } = await system.roles.client(BalanceService, 'backoffice').listEntries(owner)
  expect(entries).toEqual([])
})

// O2, O7
test("a merchant's principal sees its own payments, without provider accounts and the acts of others", async () => {
  const payment = await credited()
  const { paymentId } = payment
  const money = await door.newPrincipal(['money'])
  const adjustment = {
    merchantId: system.merchant_id,
    environment: 'ENVIRONMENT_TEST',
    currency: 'INR',
    amount: { minor: '5', currency: 'INR' },
    reason: 'a correction',
    operationId: uuidv7(),
    paymentId,
  }
  expect(await door.call(money.token, ADJUST, adjustment)).toMatchObject({ status: 200 })
  expect(titlesOf(await timelineOf(payment), 'operator_act')).toEqual([
    'money called BalanceService/Adjust: done. Reason: a correction',
  ])
  const merchant = await door.newPrincipal(['read', 'reveal'], system.merchant_id)
  const get = 'multihub.payments.v1.PaymentService/GetPayment'
  const [whole, reduced] = [
    await door.call(reader.token, get, { paymentId }),
    await door.call(merchant.token, get, { paymentId }),
  ]
  expect(whole.body.attempts).toEqual([expect.objectContaining({ accountId: 'sandbox', httpStatus: 200 })])
  expect(reduced.body.attempts).toEqual([expect.objectContaining({ accountId: '', outcome: 'success' })])
  const seen = await timelineOf(payment, merchant.token)
  expect(titlesOf(seen, 'status')).toContain('Payment succeeded')
  expect(titlesOf(seen, 'attempt')).toEqual([
    expect.stringMatching(/^Attempt 1 at the provider: paid, after/),
  ])
  expect(JSON.stringify(seen.rows)).not.toMatch(/"sandbox"|account_id|money called/)
  expect(titlesOf(await timelineOf(payment, merchant.token, { reveal: true }), 'operator_act')).toEqual([
    'read reveal called TimelineService/GetTimeline: has not ended yet',
  ])

  const stranger = await door.newPrincipal(['read'], '999')
  const foreign = await door.call(stranger.token, TIMELINE, { paymentId })
  const unknown = await door.call(stranger.token, TIMELINE, { paymentId: uuidv7() })
  expect(foreign.status).toBe(404)
  expect(foreign.body).toEqual(unknown.body)
})

// O5, O7
test('an approval that waits for a second person is what comes next', async () => {
  const payment = await credited()
  const admin = await door.newPrincipal(['admin'])
  const [ann, bob] = [await door.newPrincipal(['money']), await door.newPrincipal(['money'])]
  const policies = 'multihub.backoffice.v1.ApprovalService'
  const policy = { rpc: APPROVE, currency: 'INR', aboveMinor: '0' }
  expect(await door.call(admin.token, `${policies}/SetApprovalPolicy`, policy)).toMatchObject({ status: 200 })
  const { refund } = await requestRefund(payment, 500n)
  const refundId = refund?.refundId
  expect(await door.call(ann.token, APPROVE, { refundId })).toMatchObject({ status: 400 })
  const waiting = await timelineOf(payment)
  expect(waiting.pending).toContainEqual({
    title: 'RefundService/ApproveRefund waits for a second person, and expires without a decision',
    time: expect.any(String),
    waitsFor: 'operator',
    refs: [{ kind: 'approval', id: expect.any(String) }],
  })
  const approvalId = waiting.pending.find(({ title }: Row) => title.startsWith('RefundService'))?.refs[0].id
  expect(await door.call(bob.token, `${policies}/Approve`, { approvalId, reason: 'checked' })).toMatchObject({
    status: 200,
  })
  const timeline = await timelineOf(payment)
  expect(titlesOf(timeline, 'operator_act')).toEqual([
    'money called RefundService/ApproveRefund: waits for a second person',
    'money called ApprovalService/Approve: done. Reason: checked',
  ])
  expect(JSON.stringify(timeline.pending)).not.toContain('second person')
})
