import { describe, expect, test } from '@jest/globals'
import type { PaymentStatus } from '#lib/contract/payment-status.ts'
import { CREATED_AT as at, newDeposit, newReservation } from '../payment.fixture.ts'
import { applyProviderUpdate } from './apply-provider-update.ts'
import { decideChargeback, winChargeback } from './chargeback.ts'
import { admitWithdrawal } from './hold-decision.ts'
import type { Payment, StoredPayment } from './payment.ts'
import { requirementsOfPayment } from './payment-requirements.ts'
import { applyRefundHold, beginApproval, decideReservation } from './refund-transitions.ts'
import { transition } from './transition.ts'

const WEBHOOK = { url: 'https://shop.example.com/', sealed_secret: 'k1.x' }

/** A payment without its effects, as after all of them have run, and the ids that those had. */
interface Life {
  payment: Payment
  readonly entries: string[]
  readonly events: string[]
}

/** Follows a payment through its changes. All effects of a change run after it. */
function liveOf(begun: Payment, changes: readonly ((payment: Payment) => Payment)[]): Life {
  const life: Life = { payment: begun, entries: [], events: [] }
  const runEffects = (): void => {
    for (const { id, lane, data } of life.payment.effects) {
      const { refund_id } = data
      const hold_id = refund_id === undefined ? `${life.payment.payment_id}:hold` : `${refund_id}:hold:1`
      const is_resolution = data['posting'] === 'capture' || data['posting'] === 'release'
      if (lane === 'money') life.entries.push(is_resolution ? `${hold_id}:resolve` : id)
      if (lane === 'event') life.events.push(String(data['event_key']))
    }
    life.payment = { ...life.payment, effects: [] }
  }
  runEffects()
  for (const change of changes) {
    life.payment = change(life.payment)
    runEffects()
  }
  return life
}

const to = (status: PaymentStatus) => (payment: Payment) => transition(payment, status, { at })
const required = (payment: StoredPayment, role: string) =>
  requirementsOfPayment(payment)
    .filter((requirement) => requirement.role === role)
    .map(({ id }) => id)

const refundUntil = (refund_id: string, ...kinds: ('success' | 'declined')[]) => [
  (payment: Payment) =>
    decideReservation(payment, { refund_id, amount: 1_000n, c_id: 'c', reason: '' }, at).payment,
  (payment: Payment) => beginApproval(payment, refund_id, at).payment,
  (payment: Payment) =>
    applyRefundHold(payment, { refund_id, hold_id: `${refund_id}:hold:1`, refused_code: undefined }, at),
  ...kinds.map((kind) => (payment: Payment) => {
    const amount = { minor: 1_000n, currency: payment.currency }
    const result =
      kind === 'success'
        ? ({ kind, provider_id: 'p', amount, completed_at: at } as const)
        : ({ kind, code: 6044 } as const)
    return applyProviderUpdate(payment, { refund_id, result, at, poll_at: at })
  }),
]
const CHARGEBACK = { chargeback_id: 'b-1', amount: 500n, currency: 'INR', reason_code: '1' }

const withdrawal = () => admitWithdrawal({ ...newReservation(), webhook: WEBHOOK }, at)

describe('a payment requires what all of its effects have stored', () => {
  const lives: Readonly<Record<string, () => Life>> = {
    'a new deposit': () => liveOf(newDeposit({ webhook: WEBHOOK }), []),
    'a paid deposit': () => liveOf(newDeposit({ webhook: WEBHOOK }), [to('processing'), to('success')]),
    'a failed deposit': () => liveOf(newDeposit({ webhook: WEBHOOK }), [to('error')]),
    'an open withdrawal': () => liveOf(withdrawal(), [to('processing')]),
    'a paid withdrawal': () => liveOf(withdrawal(), [to('success')]),
    'a failed withdrawal': () => liveOf(withdrawal(), [to('processing'), to('canceled')]),
    'a requested refund': () =>
      liveOf(newDeposit({ webhook: WEBHOOK }), [to('success'), ...refundUntil('r-1').slice(0, 1)]),
    'an approved refund': () =>
      liveOf(newDeposit({ webhook: WEBHOOK }), [to('success'), ...refundUntil('r-1')]),
    'a completed refund': () =>
      liveOf(newDeposit({ webhook: WEBHOOK }), [to('success'), ...refundUntil('r-1', 'success')]),
    'a failed refund': () =>
      liveOf(newDeposit({ webhook: WEBHOOK }), [to('success'), ...refundUntil('r-1', 'declined')]),
    'a completed refund after a failed and another completed one': () =>
      liveOf(newDeposit({ webhook: WEBHOOK }), [
        to('success'),
        ...refundUntil('r-1', 'declined'),
        ...refundUntil('r-2', 'success'),
        ...refundUntil('r-3', 'success'),
      ]),
    'a chargeback that is won': () =>
      liveOf(newDeposit({ webhook: WEBHOOK }), [
        to('success'),
        (payment) => decideChargeback(payment, CHARGEBACK, at).payment,
        (payment) => winChargeback(payment, 'b-1', at),
      ]),
  }
  for (const [name, live] of Object.entries(lives))
    test(name, () => {
      const { payment, entries, events } = live()
      expect(required(payment, 'balances').sort()).toEqual(entries.sort())
      // The fixture begins a deposit without the event of its creation.
      const first = payment.direction === 'in' ? [`${payment.payment_id}:created`] : []
      expect(required(payment, 'notifier').sort()).toEqual([...first, ...events].sort())
    })
})

test('support must have the refunds and chargebacks that were reported to it, with amount and status', () => {
  const changes = [to('success'), ...refundUntil('r-1', 'success')]
  const { payment } = liveOf(newDeposit(), changes)
  const { payment: charged } = decideChargeback(payment, CHARGEBACK, at)
  const { payment: requested } = decideReservation(
    charged,
    { refund_id: 'r-2', amount: 1n, c_id: 'c', reason: '' },
    at,
  )
  const claimsOf = (stored: StoredPayment) =>
    requirementsOfPayment(stored).flatMap(({ role, claim }) => (role === 'support' ? [claim] : []))
  const { currency } = payment
  const refund = { kind: 'refund', currency } as const
  const completed = { ...refund, refund_id: 'r-1', amount: 1_000n, status: 'completed' }
  // The reports of the other two have not arrived.
  expect(claimsOf(requested)).toEqual([completed])
  expect(claimsOf({ ...requested, effects: [] })).toEqual([
    completed,
    { ...refund, refund_id: 'r-2', amount: 1n, status: 'pending' },
    { kind: 'chargeback', currency, chargeback_id: 'b-1', amount: 500n, is_won: false },
  ])
})

test('what an effect has not stored yet is not required', () => {
  const paid = transition(newDeposit({ webhook: WEBHOOK }), 'success', { at })
  expect(required(paid, 'balances')).toEqual([])
  expect(required(paid, 'notifier')).toEqual([`${paid.payment_id}:created`])
  for (const status of ['success', 'error'] as const) {
    const ended = transition({ ...withdrawal(), effects: [] }, status, { at })
    expect(required(ended, 'balances')).toEqual([`${ended.payment_id}:hold`])
  }
  expect(requirementsOfPayment(newReservation())).toEqual([])
})

test('events of a payment without its own callback address are required for endpoints that get them', () => {
  const eventsOf = (payment: StoredPayment) =>
    requirementsOfPayment(payment).flatMap(({ role, event }) => (role === 'notifier' ? [event] : []))
  const paid = { ...transition(newDeposit(), 'success', { at }), effects: [] }
  expect(eventsOf(paid)).toEqual(['payment.created', 'payment.completed'])
  expect(eventsOf({ ...paid, webhook: WEBHOOK })).toEqual([undefined, undefined])
})
