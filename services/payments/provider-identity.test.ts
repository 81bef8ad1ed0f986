import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { LedgerEntryKind } from '#gen/multihub/balances/v1/balance_pb.ts'
import { AnomalyKind, PaymentStatus } from '#gen/multihub/payments/v1/payment_pb.ts'
import { eventually } from '../../test/support/eventually.ts'
import { type PaymentsSystem, startPayments } from './payments-system.fixture.ts'

const { SUCCESS, PROCESSING, ERROR } = PaymentStatus
const { HOLD, CAPTURE } = LedgerEntryKind
const AMOUNT = 1_000_000n

let system: PaymentsSystem
beforeAll(async () => {
  system = await startPayments()
  await system.fund(100n * AMOUNT)
})
afterAll(async () => {
  await system[Symbol.asyncDispose]()
})

const kindsOf = async (payment_id: string): Promise<LedgerEntryKind[]> =>
  (await system.entries(payment_id)).map(({ kind }) => kind).toSorted()

// P4
test('a payout that its provider has reported is never sent again, also when the provider forgets it', async () => {
  const { provider } = system
  provider.answer('pending')
  const count = provider.orders() + 1
  const created = await system.withdraw(AMOUNT, { accounts: ['acme'] })
  const order = await provider.order(count)
  provider.forget()
  await provider.polled(order, 3)
  expect(provider.orders()).toBe(count)
  expect((await system.payment(created.paymentId)).status).toBe(PROCESSING)
  expect(await provider.report(order)).toBe(200)
  await system.waitForStatus(created.paymentId, SUCCESS)
  expect(provider.orders()).toBe(count)
})

// P4
test('a late refusal of the create does not overrule a report, nor release the hold', async () => {
  const { provider } = system
  provider.stopAnswering()
  const count = provider.orders() + 1
  const creating = system.withdraw(AMOUNT, { accounts: ['acme'] })
  const order = await provider.order(count)
  expect(await provider.report(order, { status: 'pending' })).toBe(200)
  provider.refuse()
  const created = await creating
  expect(created.status).toBe(PROCESSING)
  expect(await kindsOf(created.paymentId)).toEqual([HOLD])
  provider.answer('success')
  await system.waitForStatus(created.paymentId, SUCCESS)
  await system.events(created.paymentId, 2)
  expect(await kindsOf(created.paymentId)).toEqual([HOLD, CAPTURE].toSorted())
})

// P4
test('a refusal in a callback counts, also after a report', async () => {
  const { provider } = system
  provider.answer('pending')
  const count = provider.orders() + 1
  const created = await system.withdraw(AMOUNT, { accounts: ['acme'] })
  expect(await provider.report(await provider.order(count), { status: 'declined' })).toBe(200)
  await system.waitForStatus(created.paymentId, ERROR)
})

// P4
test('a report with another id of the provider is an anomaly, and changes nothing', async () => {
  const { provider } = system
  provider.answer('pending')
  const count = provider.orders() + 1
  const created = await system.withdraw(AMOUNT, { accounts: ['acme'] })
  const order = await provider.order(count)
  for (const status of ['success', 'declined'])
    expect(await provider.report(order, { status, provider_id: 'acme-2' })).toBe(200)
  const anomalies = await eventually(
    () => system.anomalies(created.paymentId),
    (found) => found?.length === 2,
  )
  for (const anomaly of anomalies) {
    expect(anomaly).toMatchObject({ kind: AnomalyKind.ID_DIFFERS, attemptNumber: 1 })
    expect(anomaly.description).toContain('acme-2')
  }
  expect((await system.payment(created.paymentId)).status).toBe(PROCESSING)
  expect(await kindsOf(created.paymentId)).toEqual([HOLD])
  expect(await provider.report(order)).toBe(200)
  await system.waitForStatus(created.paymentId, SUCCESS)
})
