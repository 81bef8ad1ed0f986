import { expect, test } from '@jest/globals'
import type { Money } from '#lib/contract/money.ts'
import type { AnomalyKind } from '../domain/anomaly.ts'
import type { Payment } from '../domain/payment.ts'
import { applyRefundHold, beginApproval, decideReservation } from '../domain/refund-transitions.ts'
import { CREATED_AT, newDeposit } from '../payment.fixture.ts'
import { openPayments, type PaymentsFixture } from '../payments-store.fixture.ts'
import { recordAnomaly } from '../store/anomalies.ts'
import { keyOfPayment } from '../store/payments.ts'
import { type ResolveAnomalyRequest, resolveAnomaly } from './resolve-anomaly.ts'

const REFUND_ID = 'refund-1'
const inr = (minor: bigint): Money => ({ minor, currency: 'INR' })

/** Stores a payment with an anomaly of this kind, and returns the decision function of the operator. */
async function openAnomaly(
  { store, runner }: PaymentsFixture,
  kind: AnomalyKind,
  payment: Payment = newDeposit({ status: 'processing', effects: [] }),
  refund_id?: string,
) {
  const { payments, anomalies } = store
  const { merchant_id, environment, payment_id } = await payments.insert(payment)
  const about = { merchant_id, environment, payment_id, refund_id, anomaly_id: 'a', created_at: CREATED_AT }
  await recordAnomaly(anomalies, { ...about, kind, description: '' })
  const deps = { anomalies, payments, runner: runner(), sendsCallbacks: () => true }
  return {
    decide: (resolution: ResolveAnomalyRequest['kind'], amount?: Money) =>
      resolveAnomaly(deps, { anomaly_id: 'a', kind: resolution, amount, operation_id: 'op', note: '' }),
    read: () => payments.get(keyOfPayment(payment)),
    isOpen: async () => (await anomalies.find('by_open', {}, { limit: 1 })).length === 1,
  }
}

/** A deposit of 150,000 with a refund of 400 that is at its provider. */
function withApprovedRefund(): Payment {
  const paid = newDeposit({ status: 'success', effects: [] })
  const request = { refund_id: REFUND_ID, c_id: 'c', amount: 400n, reason: '' }
  const approving = beginApproval(decideReservation(paid, request, CREATED_AT).payment, REFUND_ID, CREATED_AT)
  const hold = { refund_id: REFUND_ID, hold_id: `${REFUND_ID}:hold:1`, refused_code: undefined }
  return { ...applyRefundHold(approving.payment, hold, CREATED_AT), effects: [] }
}

// P7
test.each([
  ['without an amount', 1005, 'amount', undefined],
  ['of a part', 9000, 'amount.minor', inr(1n)],
  ['of more', 9000, 'amount.minor', inr(150_001n)],
  ['in another currency', 9000, 'amount.currency', { minor: 150_000n, currency: 'MXN' }],
])('paid %s is refused with %d at %s, and the payment stays open', async (_what, code, path, amount) => {
  await using fixture = await openPayments()
  const { decide, read, isOpen } = await openAnomaly(fixture, 'amount_differs')
  await expect(decide('paid', amount)).rejects.toMatchObject({ code, details: { description: path } })
  expect(await read()).toMatchObject({ status: 'processing', history: [{ status: 'created' }] })
  expect(await isOpen()).toBe(true)
  expect(await decide('paid', inr(150_000n))).toMatchObject({ resolution: { kind: 'paid' } })
  expect(await read()).toMatchObject({ status: 'success' })
})

test('a refund is paid with its own amount, not with that of its payment', async () => {
  await using fixture = await openPayments()
  const payment = withApprovedRefund()
  const { decide, read } = await openAnomaly(fixture, 'amount_differs', payment, REFUND_ID)
  await expect(decide('paid', inr(150_000n))).rejects.toMatchObject({ code: 9000 })
  expect(await decide('paid', inr(400n))).toMatchObject({ resolution: { kind: 'paid' } })
  expect(await read()).toMatchObject({ status: 'partially_refunded', refunds: [{ state: 'completed' }] })
})

// P7.4
test.each([inr(1n), inr(150_000n)])(
  'paid of %p for a payment that has ended says so, and what is left',
  async (amount) => {
    await using fixture = await openPayments()
    const payment = newDeposit({ status: 'success', effects: [] })
    const { decide } = await openAnomaly(fixture, 'amount_differs', payment)
    const reason = 'it has ended: dismiss the anomaly, and correct the balance'
    await expect(decide('paid', amount)).rejects.toMatchObject({ code: 8801, details: { reason } })
  },
)

// P7: it is about an operation that its account was not asked for, and only its address names the payment.
test.each(['paid', 'not_paid'] as const)(
  'an unmatched report that names an open payment never ends it as %s',
  async (resolution) => {
    await using fixture = await openPayments()
    const { decide, read, isOpen } = await openAnomaly(fixture, 'unmatched_report')
    const refused = { code: 9000, details: { description: 'resolution' } }
    const amount = resolution === 'paid' ? inr(150_000n) : undefined
    await expect(decide(resolution, amount)).rejects.toMatchObject(refused)
    expect(await read()).toMatchObject({ status: 'processing', history: [{ status: 'created' }] })
    expect(await isOpen()).toBe(true)
    expect(await decide('dismissed')).toMatchObject({ resolution: { kind: 'dismissed' } })
  },
)

test.each(['not_paid', 'dismissed'] as const)('%s with an amount is refused with 9000', async (kind) => {
  await using fixture = await openPayments()
  const { decide } = await openAnomaly(fixture, 'amount_differs')
  await expect(decide(kind, inr(150_000n))).rejects.toMatchObject({ code: 9000 })
})
