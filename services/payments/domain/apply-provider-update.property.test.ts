import { expect, test } from '@jest/globals'
import fc from 'fast-check'
import { isFinal } from '#lib/contract/payment-status.ts'
import { publishEventEffect } from '#lib/patterns/effects/publish-event.ts'
import { propertyRuns } from '../../../test/support/property-runs.ts'
import { CREATE_RESPONSE, CREATED_AT, newDeposit } from '../payment.fixture.ts'
import { applyExpiry } from './apply-expiry.ts'
import { applyProviderUpdate } from './apply-provider-update.ts'
import type { CallResult, LookupResult } from './call-result.ts'
import type { Payment } from './payment.ts'
import { expirePaymentEffect, pollProviderEffect, postEntryEffect } from './payment-effects.ts'
import { EVENT_OF } from './payment-event.ts'
import { recordOf } from './provider-record.ts'
import { canTransition } from './transition.ts'

const amount = fc.record({
  minor: fc.constantFrom(150_000n, 150_000n, 1n),
  currency: fc.constantFrom('INR', 'INR', 'EUR'),
})
const provider_id = fc.constantFrom('p-1', 'p-2')

/** Results of provider calls, also with wrong amounts. */
const result: fc.Arbitrary<CallResult> = fc.oneof(
  fc.record({
    kind: fc.constant('success' as const),
    provider_id,
    amount,
    completed_at: fc.constant(CREATED_AT),
    utr: fc.constantFrom('u-1', 'u-2'),
  }),
  fc.record({ kind: fc.constant('pending' as const), provider_id, amount }),
  fc.record({ kind: fc.constantFrom('unknown' as const, 'not_sent' as const), reason: fc.constant('reset') }),
  fc.record({
    kind: fc.constant('declined' as const),
    code: fc.constantFrom(6044 as const, 7001 as const),
    provider_id,
    amount,
  }),
  fc.record({ kind: fc.constant('canceled' as const), code: fc.constant(6012 as const), provider_id }),
)

/** Results of the last question to a provider. One that was not sent is `unknown`. */
const lookup: fc.Arbitrary<LookupResult> = fc.oneof(
  result.filter((one) => one.kind !== 'not_sent'),
  fc.constant({ kind: 'not_found' as const }),
)

/** One step in the life of a payment: a provider update, the expiry, or the end of an effect. */
const step = fc.oneof(
  {
    weight: 8,
    arbitrary: fc.record({
      type: fc.constant('update' as const),
      result,
      attempt_number: fc.constantFrom(1, 1, 1, 2, 3),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      type: fc.constant('expiry' as const),
      result: lookup,
      attempt_number: fc.constantFrom(1, 1, 2),
      is_last: fc.boolean(),
    }),
  },
  { weight: 2, arbitrary: fc.record({ type: fc.constant('effect done' as const), effect: fc.nat(5) }) },
)
type Step = typeof step extends fc.Arbitrary<infer S> ? S : never

function applyStep(payment: Payment, one: Step, at: Date): Payment {
  if (one.type === 'expiry') {
    const { attempt_number, result, is_last } = one
    const asked_at = is_last ? new Date((payment.expires_at?.getTime() ?? 0) + 60_000) : at
    const update = { attempt_number, result, at: asked_at, ask_again_at: asked_at }
    return applyExpiry(payment, { ...update, sends_callbacks: true })
  }
  if (one.type === 'effect done') {
    return { ...payment, effects: payment.effects.filter((_, index) => index !== one.effect) }
  }
  const { attempt_number, result } = one
  const create = result.kind === 'not_sent' ? { create: CREATE_RESPONSE } : {}
  return applyProviderUpdate(payment, { attempt_number, result, at, poll_at: at, ...create })
}

/** Whether an update contradicts the updates that were applied before it (P7). */
function contradicts(payment: Payment, one: Step): boolean {
  if (one.type !== 'update') return false
  const { status, amount: requested, currency, attempt, effects } = payment
  const { kind } = one.result
  const is_next_waiting =
    status === 'created' && effects.some(({ id }) => id.endsWith(`:${attempt.number}:create`))
  const is_current = one.attempt_number === attempt.number
  const has_arrived = kind === 'success' || kind === 'pending'
  const is_returned = is_next_waiting && one.attempt_number < attempt.number && has_arrived
  if (!is_current && !is_returned) return kind === 'success'
  const named = 'amount' in one.result ? one.result.amount : undefined
  if (named && (named.minor !== requested || named.currency !== currency)) return true
  if (kind === 'success') return ['error', 'canceled', 'declined'].includes(status)
  if (!isFinal(status) || status === 'declined') return false
  return (kind === 'declined' && status !== 'error') || (kind === 'canceled' && status !== 'canceled')
}

test('any sequence of provider updates keeps statuses, history, credits and events consistent', () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 30, size: 'max' }), fc.nat(2), (steps, extra_accounts) => {
      let payment: Payment = newDeposit({
        provider_accounts: ['first', 'second', 'third'].slice(0, extra_accounts + 1),
      })
      const added = new Map(payment.effects.map((effect) => [effect.id, effect]))
      const count = { credits: 0, events: 0 }
      for (const [index, one] of steps.entries()) {
        const before = payment
        payment = applyStep(before, one, new Date(CREATED_AT.getTime() + index + 1))

        if (payment.status !== before.status) expect(canTransition(before, payment.status)).toBe(true)
        if (isFinal(before.status)) expect(payment.status).toBe(before.status)
        expect(payment.history.length > before.history.length).toBe(payment.status !== before.status)
        expect(payment.history.at(-1)?.status).toBe(payment.status)
        expect(payment.attempt.account_id).toBe(payment.provider_accounts[payment.attempt.number - 1])
        const is_moved = payment.attempt.number !== before.attempt.number
        const { earlier_successes = [], pending_elsewhere = [] } = before
        const may_be_there = [...earlier_successes, ...pending_elsewhere].includes(payment.attempt.number)
        if (is_moved && !may_be_there) expect(before.status).toBe('created')
        const paid_attempt = before.earlier_successes?.at(-1) ?? Number.POSITIVE_INFINITY
        const has_ended = isFinal(payment.status) && !isFinal(before.status)
        if (has_ended && paid_attempt <= payment.provider_accounts.length)
          expect(['success', 'declined']).toContain(payment.status)

        const ids = payment.effects.map(({ id }) => id)
        expect(new Set(ids).size).toBe(ids.length)
        for (const effect of payment.effects.filter((each) => !before.effects.includes(each))) {
          if (postEntryEffect.matches(effect)) count.credits += 1
          if (publishEventEffect.matches(effect)) count.events += 1
          const is_repeatable = pollProviderEffect.matches(effect) || expirePaymentEffect.matches(effect)
          if (!is_repeatable) expect(added.has(effect.id)).toBe(false)
          added.set(effect.id, effect)
        }
        if (contradicts(before, one)) expect(payment.anomalies).not.toHaveLength(0)
        const { has_other_id } = recordOf(payment, { attempt_number: payment.attempt.number })
        if (one.type === 'expiry' && one.is_last && !is_moved && !has_other_id)
          expect(isFinal(payment.status)).toBe(true)
        if (one.type === 'update') expect(applyStep(payment, one, new Date(0))).toBe(payment)
      }
      const events = payment.history.slice(1).filter(({ status }) => EVENT_OF[status]).length
      expect(count).toEqual({ credits: payment.status === 'success' ? 1 : 0, events })
    }),
    { numRuns: propertyRuns(2_000) },
  )
})
