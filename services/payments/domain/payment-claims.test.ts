import { describe, expect, test } from '@jest/globals'
import type { Claim } from '#lib/role/requirement.ts'
import { CREATED_AT as at, newDeposit, newReservation } from '../payment.fixture.ts'
import { applyProviderUpdate } from './apply-provider-update.ts'
import { decideChargeback, winChargeback } from './chargeback.ts'
import { applyHoldDecision } from './hold-decision.ts'
import { requireAdmitted, type StoredPayment } from './payment.ts'
import { adoptClaim, agreesWith } from './payment-claims.ts'
import { lookUpLateEffect } from './payment-effects.ts'
import { ledgerEntriesOf } from './payment-requirements.ts'
import { applyRefundHold, beginApproval, decideClosing, decideReservation } from './refund-transitions.ts'
import { markRestored } from './restored.ts'
import { transition } from './transition.ts'

type Step = (payment: StoredPayment) => StoredPayment

const REQUEST = { refund_id: 'r-1', amount: 1_000n, c_id: 'c', reason: '' }
const CHARGEBACK = { chargeback_id: 'b-1', amount: 500n, currency: 'INR', reason_code: '1' }
const paid: Step = (payment) => transition(requireAdmitted(payment), 'success', { at })
const failed: Step = (payment) => transition(requireAdmitted(payment), 'error', { at, error_code: 7001 })
const admitted: Step = (payment) =>
  applyHoldDecision(payment, { hold_id: `${payment.payment_id}:hold`, refused_code: undefined }, at)
const requested: Step = (payment) => decideReservation(requireAdmitted(payment), REQUEST, at).payment
const approving: Step = (payment) => beginApproval(requireAdmitted(payment), 'r-1', at).payment
const decided =
  (number: number, refused_code?: 6004): Step =>
  (payment) => {
    const decision = { refund_id: 'r-1', hold_id: `r-1:hold:${number}`, refused_code }
    return applyRefundHold(requireAdmitted(payment), decision, at)
  }
const closed: Step = (payment) =>
  decideClosing(requireAdmitted(payment), { refund_id: 'r-1', status: 'rejected', reason: '' }, at).payment
const refundEnded =
  (kind: 'success' | 'declined'): Step =>
  (payment) => {
    const amount = { minor: 1_000n, currency: 'INR' }
    const result =
      kind === 'success'
        ? ({ kind, provider_id: 'p', amount, completed_at: at } as const)
        : ({ kind, code: 6044 } as const)
    return applyProviderUpdate(requireAdmitted(payment), { refund_id: 'r-1', result, at, poll_at: at })
  }
const charged: Step = (payment) => decideChargeback(requireAdmitted(payment), CHARGEBACK, at).payment
const won: Step = (payment) => winChargeback(requireAdmitted(payment), 'b-1', at)

const LIVES: Readonly<Record<string, readonly Step[]>> = {
  'a deposit with a completed refund': [paid, requested, approving, decided(1), refundEnded('success')],
  'a deposit with a failed refund': [paid, requested, approving, decided(1), refundEnded('declined')],
  'a refund that was approved again': [paid, requested, approving, decided(1, 6004), approving, decided(2)],
  'a refund that is pending after refused approvals': [
    paid,
    requested,
    approving,
    decided(1, 6004),
    approving,
    decided(2, 6004),
  ],
  'a refund that was rejected after a refused approval': [
    paid,
    requested,
    approving,
    decided(1, 6004),
    closed,
  ],
  'a chargeback that was won': [paid, charged, won],
  'a refund, then a chargeback': [paid, requested, approving, decided(1), refundEnded('success'), charged],
}

/** What support states about a payment that has reported everything. */
function claimsOfSupport(payment: StoredPayment): Claim[] {
  const { refunds = [], chargebacks = [], currency } = payment
  return [
    ...refunds.map(({ refund_id, amount, state }) => {
      const status = state === 'approving' ? 'pending' : state
      return { kind: 'refund', refund_id, amount, currency, status } as const
    }),
    ...chargebacks.map(({ chargeback_id, amount, is_won }) => {
      return { kind: 'chargeback', chargeback_id, amount, currency, is_won } as const
    }),
  ]
}

/** What the ledger states: the holds that it refused, and the accepted entries in their order. */
function claimsOfLedger(payment: StoredPayment): Claim[] {
  const refused = (payment.refunds ?? []).flatMap(({ refund_id, amount, state, holds }) => {
    const is_placed = state === 'approved' || state === 'completed' || state === 'failed'
    return Array.from({ length: is_placed ? holds - 1 : holds }, (_, index) => {
      return {
        entry_id: `${refund_id}:hold:${index + 1}`,
        posting: 'hold',
        amount,
        refused_code: 6004,
      } as const
    })
  })
  const accepted = ledgerEntriesOf(payment).filter(({ entry_id }) =>
    refused.every((hold) => hold.entry_id !== entry_id),
  )
  return [...refused, ...accepted].map((entry) => ({ kind: 'entry', currency: payment.currency, ...entry }))
}

const adoptAll = (payment: StoredPayment, claims: readonly Claim[]): StoredPayment =>
  claims.reduce((current, claim) => adoptClaim(current, claim, at), payment)
const statesOf = ({ status, refunds = [], chargebacks = [] }: StoredPayment) => ({
  status,
  refunds: refunds.map(({ refund_id, amount, state, holds, change_number }) => {
    // One that was rejected needs no further hold, so the number is not restored.
    return { refund_id, amount, state, holds: state === 'rejected' ? 0 : holds, change_number }
  }),
  chargebacks: chargebacks.map(({ chargeback_id, amount, is_won }) => ({ chargeback_id, amount, is_won })),
})

// P18: what a backup read later is added to a payment that it read before.
describe('a payment from any earlier moment becomes what support and the ledger know of it', () => {
  const begun = newDeposit()
  for (const [name, steps] of Object.entries(LIVES)) {
    const final = steps.reduce((payment, step) => step(payment), begun as StoredPayment)
    const claims = [...claimsOfSupport(final), ...claimsOfLedger(final)]
    test(name, () => {
      for (let cut = 0; cut <= steps.length; cut += 1) {
        const earlier = steps.slice(0, cut).reduce((payment, step) => step(payment), begun as StoredPayment)
        const adopted = adoptAll(earlier, claims)
        // The effect of a hold that the earlier payment has asks for it again, and gets the same decision.
        const settled = [1, 2].reduce((payment, number) => {
          const is_refused = claims.some(
            (claim) => 'refused_code' in claim && claim.entry_id === `r-1:hold:${number}`,
          )
          return (payment.refunds ?? []).length > 0
            ? decided(number, is_refused ? 6004 : undefined)(payment)
            : payment
        }, adopted)
        expect(statesOf(settled)).toEqual(statesOf(final))
        for (const claim of claims) expect(agreesWith(adopted, claim)).toBe(true)
        expect(adoptAll(adopted, claims)).toBe(adopted)
      }
    })
  }

  test('also when support was read before the refund and the chargeback', () => {
    const steps = [...(LIVES['a refund, then a chargeback'] ?? []), won]
    const final = steps.reduce((payment, step) => step(payment), begun as StoredPayment)
    const adopted = adoptAll(paid(begun), claimsOfLedger(final))
    expect(statesOf(adopted)).toEqual(statesOf(final))
    const reports = adopted.effects.filter(({ kind }) => kind.startsWith('report_')).map(({ id }) => id)
    expect(reports).toEqual(['r-1:report:1', 'r-1:report:2', 'r-1:report:3', 'b-1:report'])
  })

  test('a refund whose hold the backup did not know may be sent when the ledger states that it accepted a later one', () => {
    const restored = markRestored(approving(requested(paid(newDeposit()))), at)
    expect(requireAdmitted(restored).refunds).toMatchObject([{ state: 'approving', is_hold_unknown: true }])
    const claim = {
      kind: 'entry',
      posting: 'hold',
      entry_id: 'r-1:hold:2',
      amount: 1_000n,
      currency: 'INR',
    } as const
    const [refund] = requireAdmitted(adoptClaim(restored, claim, at)).refunds ?? []
    expect(refund).toMatchObject({ state: 'approved' })
    expect(refund).not.toHaveProperty('is_hold_unknown')
  })

  test('and the next approval of a restored refund has a hold that the ledger has not refused', () => {
    const pending = requested(paid(begun))
    const final = decided(2, 6004)(approving(decided(1, 6004)(approving(pending))))
    const next = approving(adoptAll(pending, claimsOfLedger(final)))
    expect(requireAdmitted(next).refunds).toMatchObject([{ state: 'approving', holds: 3 }])
    // Nothing was held for a refund that the restored system does not know.
    expect(adoptAll(paid(begun), claimsOfLedger(final))).toEqual(paid(begun))
  })

  test.each([
    ['captured', paid],
    ['released', failed],
  ] as const)('a withdrawal whose hold was %s', (_name, end) => {
    const reserving = newReservation()
    const final = end(admitted(reserving))
    for (const earlier of [reserving, admitted(reserving)]) {
      const adopted = adoptAll(earlier, claimsOfLedger(final))
      expect(adopted.status).toBe(final.status)
      // P7: the provider may say later that it was paid.
      expect(adopted.effects.some(lookUpLateEffect.matches)).toBe(final.status === 'error')
      for (const claim of claimsOfLedger(final)) expect(agreesWith(adopted, claim)).toBe(true)
    }
  })
})

// P19.13. The words are stored in ledgers: never change them here.
test.each([
  ['withdrawal canceled', 'canceled', 6034],
  ['withdrawal failed', 'error', 6044],
  // An entry of an earlier release.
  [undefined, 'error', 6044],
] as const)('a withdrawal whose hold was released as %j ends as %s', (reason, status, error_code) => {
  const payment = admitted(newReservation())
  const { amount, currency } = payment
  const entry_id = `${payment.payment_id}:hold:resolve`
  const release = { kind: 'entry', posting: 'release', entry_id, amount, currency, reason } as const
  expect(adoptClaim(payment, release, at)).toMatchObject({ status, error_code })
})

test('a repeated chargeback or refund of what was given back is refused', () => {
  const payment = paid(newDeposit())
  const { amount } = payment
  const whole = { kind: 'chargeback', chargeback_id: 'b-1', amount, currency: 'INR', is_won: false } as const
  const adopted = requireAdmitted(adoptClaim(payment, whole, at))
  expect(decideChargeback(adopted, { ...CHARGEBACK, chargeback_id: 'b-2', amount }, at).refused_code).toBe(
    11004,
  )
  expect(decideReservation(adopted, { ...REQUEST, amount }, at).refused_code).toBe(11002)
})

test('a fact that cannot be true for the payment changes nothing, and does not agree with it', () => {
  const payment = failed(newDeposit())
  const { payment_id } = payment
  const entry = { kind: 'entry', amount: payment.amount, currency: 'INR' } as const
  const claims: readonly Claim[] = [
    { ...entry, entry_id: `${payment_id}:credit`, posting: 'credit' },
    { ...entry, entry_id: `${payment_id}:hold:resolve`, posting: 'capture' },
    { ...entry, entry_id: 'r-1:hold:1:resolve', posting: 'capture' },
    { ...entry, entry_id: 'r-1:hold:1', posting: 'hold', currency: 'EUR' },
    { ...entry, entry_id: 'b-1:return', posting: 'return' },
  ]
  for (const claim of claims) {
    expect(adoptClaim(payment, claim, at)).toBe(payment)
    expect(agreesWith(payment, claim)).toBe(false)
  }
  const rejected = closed(requested(paid(newDeposit())))
  const hold = {
    kind: 'entry',
    entry_id: 'r-1:hold:1',
    posting: 'hold',
    amount: 1_000n,
    currency: 'INR',
  } as const
  expect(adoptClaim(rejected, hold, at)).toBe(rejected)
  // An ended refund is not approved again, and a won chargeback needs its return.
  const lives = LIVES['a refund, then a chargeback'] ?? []
  const returned = lives.reduce((current, step) => step(current), newDeposit() as StoredPayment)
  const { chargeback_id, amount, currency } = CHARGEBACK
  for (const claim of [
    { ...hold, entry_id: 'r-1:hold:2' },
    { kind: 'refund', refund_id: 'r-1', amount: 1_000n, currency, status: 'rejected' } as const,
    { kind: 'chargeback', chargeback_id, amount, currency, is_won: true } as const,
  ]) {
    expect(adoptClaim(returned, claim, at)).toBe(returned)
    expect(agreesWith(returned, claim)).toBe(false)
  }
})

test('a fact with another amount, currency or posting does not agree with the payment, and changes nothing', () => {
  const begun = newDeposit()
  for (const steps of [[], [paid, requested], ...Object.values(LIVES)]) {
    const payment = steps.reduce((current, step) => step(current), begun as StoredPayment)
    const true_of = steps.length === 0 ? paid(begun) : payment
    for (const claim of [...claimsOfSupport(true_of), ...claimsOfLedger(true_of)]) {
      const { amount } = claim
      const others: readonly Claim[] = [
        { ...claim, amount: amount + 1n },
        { ...claim, currency: 'EUR' },
        ...(claim.kind === 'refund' ? [{ ...claim, amount: amount + 1n, status: 'rejected' } as const] : []),
        ...(claim.kind === 'entry' && claim.posting === 'capture'
          ? [{ ...claim, posting: 'release' } as const]
          : []),
      ]
      for (const other of others) {
        expect(agreesWith(payment, other)).toBe(false)
        expect(adoptClaim(payment, other, at)).toBe(payment)
      }
    }
  }
})
