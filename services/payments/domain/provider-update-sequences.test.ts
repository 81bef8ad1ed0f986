import { expect, test } from '@jest/globals'
import fc from 'fast-check'
import type { ProviderOutcome } from '../connectors/connector.ts'
import { CREATED_AT, newDeposit } from '../payment.fixture.ts'
import { decide, expire } from './apply-provider-update.ts'
import type { Payment } from './payment.ts'
import { EVENT_OF, isSettled, mayGo } from './transition-table.ts'

const amount = fc.record({
  minor: fc.constantFrom(150_000n, 150_000n, 1n),
  currency: fc.constantFrom('INR', 'INR', 'EUR'),
})
const provider_id = fc.constantFrom('p-1', 'p-2')

/** What providers say, truly or not. */
const outcome: fc.Arbitrary<ProviderOutcome> = fc.oneof(
  fc.record({
    kind: fc.constant('success' as const),
    provider_id,
    amount,
    completed_at: fc.constant(CREATED_AT),
    utr: fc.constantFrom('u-1', 'u-2'),
  }),
  fc.record({ kind: fc.constant('pending' as const), provider_id }),
  fc.record({ kind: fc.constantFrom('unknown' as const, 'not_sent' as const), reason: fc.constant('reset') }),
  fc.record({
    kind: fc.constant('declined' as const),
    code: fc.constantFrom(6044 as const, 7001 as const),
    provider_id,
  }),
  fc.record({ kind: fc.constant('canceled' as const), code: fc.constant(6012 as const), provider_id }),
)

/** One thing that happens: a verdict by whatever way, the end of its time, or that an effect was carried out. */
const happening = fc.oneof(
  {
    weight: 8,
    arbitrary: fc.record({
      what: fc.constant('verdict' as const),
      outcome,
      attempt: fc.constantFrom(1, 1, 1, 2, 3),
    }),
  },
  { weight: 1, arbitrary: fc.record({ what: fc.constant('expiry' as const) }) },
  { weight: 2, arbitrary: fc.record({ what: fc.constant('done' as const), effect: fc.nat(5) }) },
)
type Happening = typeof happening extends fc.Arbitrary<infer H> ? H : never

function happen(payment: Payment, one: Happening, at: Date): Payment {
  if (one.what === 'expiry') return expire(payment, at)
  if (one.what === 'done') {
    return { ...payment, effects: payment.effects.filter((_, index) => index !== one.effect) }
  }
  return decide(payment, { attempt: one.attempt, outcome: one.outcome, at, poll_at: at })
}

/** Whether a verdict cannot be true if all that was applied before it is (P7). */
function contradicts({ state, amount: asked, currency, attempt }: Payment, one: Happening): boolean {
  if (one.what !== 'verdict') return false
  const { kind } = one.outcome
  if (one.attempt !== attempt.number) return kind === 'success'
  if (kind === 'success') {
    const as_asked = one.outcome.amount.minor === asked && one.outcome.amount.currency === currency
    return !as_asked || ['error', 'canceled', 'declined'].includes(state)
  }
  if (!isSettled(state) || state === 'declined') return false
  return (kind === 'declined' && state !== 'error') || (kind === 'canceled' && state !== 'canceled')
}

test('whatever providers say, in whatever order and however often, the money and the story are right', () => {
  fc.assert(
    fc.property(fc.array(happening, { maxLength: 30 }), fc.nat(2), (happenings, extra_accounts) => {
      let payment = newDeposit({
        provider_accounts: ['first', 'second', 'third'].slice(0, extra_accounts + 1),
      })
      const added = new Map(payment.effects.map((one) => [one.id, one]))
      const count = { credits: 0, events: 0 }
      for (const [index, one] of happenings.entries()) {
        const before = payment
        payment = happen(before, one, new Date(CREATED_AT.getTime() + index + 1))

        if (payment.state !== before.state) expect(mayGo(before.state, payment.state)).toBe(true)
        if (isSettled(before.state)) expect(payment.state).toBe(before.state)
        expect(payment.transition - before.transition).toBe(payment.state === before.state ? 0 : 1)
        expect(payment.history).toHaveLength(payment.transition)
        expect(payment.history.at(-1)?.state).toBe(payment.state)
        expect(payment.attempt.account_id).toBe(payment.provider_accounts[payment.attempt.number - 1])
        if (payment.attempt.number !== before.attempt.number) expect(before.state).toBe('created')

        const ids = payment.effects.map(({ id }) => id)
        expect(new Set(ids).size).toBe(ids.length)
        for (const effect of payment.effects.filter((effect) => !before.effects.includes(effect))) {
          if (effect.kind === 'ledger_credit') count.credits += 1
          if (effect.kind === 'publish_event') count.events += 1
          const repeatable = effect.kind === 'provider_poll' || effect.kind === 'record_anomaly'
          if (!repeatable) expect(added.has(effect.id)).toBe(false)
          added.set(effect.id, effect)
        }
        if (contradicts(before, one)) {
          expect(payment.effects.some(({ kind }) => kind === 'record_anomaly')).toBe(true)
        }
        if (one.what === 'verdict') expect(happen(payment, one, new Date(0))).toBe(payment)
      }
      const told = payment.history.slice(1).filter(({ state }) => EVENT_OF[state]).length
      expect(count).toEqual({ credits: payment.state === 'success' ? 1 : 0, events: told })
    }),
    { numRuns: 2_000 },
  )
})
