import { describe, expect, test } from '@jest/globals'
import type { ProviderOutcome } from '../connectors/connector.ts'
import type { AnomalyKind } from '../effects/record-anomaly.ts'
import { CREATED_AT, newDeposit, STATES } from '../payment.fixture.ts'
import { createEffect, decide, expire, type Verdict } from './apply-provider-update.ts'
import type { Payment, PaymentState } from './payment.ts'
import { isSettled } from './transition-table.ts'

const at = new Date(CREATED_AT.getTime() + 1_000)
const poll_at = new Date(CREATED_AT.getTime() + 3_000)
const completed_at = new Date(CREATED_AT.getTime() + 900)
const AS_ASKED = { minor: 150_000n, currency: 'INR' }

/** Everything that a provider can be understood to say. */
const OUTCOMES = {
  success: { kind: 'success', provider_id: 'p-1', amount: AS_ASKED, completed_at, utr: 'u-1' },
  'success of more': {
    kind: 'success',
    provider_id: 'p-1',
    amount: { ...AS_ASKED, minor: 150_001n },
    completed_at,
  },
  'success in euro': {
    kind: 'success',
    provider_id: 'p-1',
    amount: { ...AS_ASKED, currency: 'EUR' },
    completed_at,
  },
  pending: { kind: 'pending', provider_id: 'p-1', instructions: { qr_payload: 'upi://pay' } },
  unknown: { kind: 'unknown', reason: 'reset' },
  not_sent: { kind: 'not_sent', reason: 'refused' },
  declined: { kind: 'declined', code: 6044, provider_id: 'p-1' },
  canceled: { kind: 'canceled', code: 6012, provider_id: 'p-1' },
} satisfies Record<string, ProviderOutcome>

type Said = keyof typeof OUTCOMES
const SAID = Object.keys(OUTCOMES) as readonly Said[]

/** What comes of it: the state, and the anomaly if there is one. */
type Expected = readonly [PaymentState, AnomalyKind?]

const [differs, contradicts] = ['amount_differs', 'contradicts_final_state'] as const

const RUNNING: Readonly<Record<Said, Expected>> = {
  success: ['success'],
  'success of more': ['processing', differs],
  'success in euro': ['processing', differs],
  pending: ['processing'],
  unknown: ['processing'],
  not_sent: ['processing'],
  declined: ['error'],
  canceled: ['canceled'],
}

/** What is said of a payment that has ended never changes its state (P7). */
function ended(state: PaymentState, anomalies: Readonly<Partial<Record<Said, AnomalyKind>>>) {
  const rows = SAID.map((said): [Said, Expected] => {
    const anomaly = anomalies[said]
    return [said, anomaly ? [state, anomaly] : [state]]
  })
  return Object.fromEntries(rows)
}

const UNPAID = { success: contradicts, 'success of more': contradicts, 'success in euro': contradicts }
const PAID = {
  'success of more': differs,
  'success in euro': differs,
  declined: contradicts,
  canceled: contradicts,
}

const EXPECTED: Readonly<Record<PaymentState, Readonly<Record<string, Expected>>>> = {
  created: { ...RUNNING, not_sent: ['error'] },
  processing: RUNNING,
  success: ended('success', PAID),
  partially_refunded: ended('partially_refunded', PAID),
  refunded: ended('refunded', PAID),
  error: ended('error', { ...UNPAID, canceled: contradicts }),
  canceled: ended('canceled', { ...UNPAID, declined: contradicts }),
  declined: ended('declined', UNPAID),
}

function verdict(said: Said, changes: Partial<Verdict> = {}): Verdict {
  return { attempt: 1, outcome: OUTCOMES[said], at, poll_at, ...changes }
}

/** A payment whose last account is being tried, in some state. */
function inState(state: PaymentState): Payment {
  return newDeposit({ state, provider_accounts: ['first'], effects: [] })
}

const anomaliesOf = ({ effects }: Payment) =>
  effects.filter(({ kind }) => kind === 'record_anomaly').map(({ data }) => data['kind'])

describe.each(STATES)('of a payment in %s', (state) => {
  test.each(SAID)('its provider says %s', (said) => {
    const payment = inState(state)
    const decided = decide(payment, verdict(said))
    const [next, anomaly] = EXPECTED[state][said] ?? []
    expect(decided.state).toBe(next)
    expect(anomaliesOf(decided)).toEqual(anomaly ? [anomaly] : [])
    expect(decided.effects.filter(({ kind }) => kind === 'provider_poll')).toHaveLength(
      next === 'processing' ? 1 : 0,
    )
    if (next === state && !anomaly && isSettled(state)) expect(decided).toBe(payment)
  })

  test.each(SAID)('its provider says %s twice: the second time nothing changes', (said) => {
    const once = decide(inState(state), verdict(said))
    expect(decide(once, verdict(said))).toBe(once)
  })

  test.each(SAID)('the provider of an earlier attempt says %s', (said) => {
    const current = { number: 2, account_id: 'second', created_at: at }
    const payment = newDeposit({ state, attempt: current, effects: [] })
    const decided = decide(payment, verdict(said))
    const paid = OUTCOMES[said].kind === 'success'
    expect({ ...decided, effects: [] }).toEqual(payment)
    expect(anomaliesOf(decided)).toEqual(paid ? ['success_of_earlier_attempt'] : [])
    if (!paid) expect(decided).toBe(payment)
    expect(String(decided.effects[0]?.data['description'] ?? 'first')).toContain('first')
  })

  test('its time runs out', () => {
    const payment = inState(state)
    const expired = expire(payment, at)
    if (isSettled(state)) expect(expired).toBe(payment)
    else expect(expired).toMatchObject({ state: 'declined', error_code: 6011, finished_at: at })
  })
})

describe('what a provider tells beside its verdict', () => {
  test('is kept: its id, the reference, the instructions, the code, the time of a success', () => {
    const waiting = decide(inState('created'), verdict('pending'))
    expect(waiting).toMatchObject({ p_id: 'p-1', instructions: { qr_payload: 'upi://pay' } })
    const paid = decide(waiting, verdict('success'))
    expect(paid).toMatchObject({ utr: 'u-1', finished_at: completed_at, updated_at: at })
    expect(decide(waiting, verdict('declined'))).toMatchObject({ error_code: 6044 })
    expect(decide(waiting, verdict('canceled'))).toMatchObject({ error_code: 6012 })
  })

  test('never replaces what the customer may have seen already', () => {
    const waiting = decide(inState('created'), verdict('pending'))
    const outcome = { kind: 'pending', provider_id: 'p-2', instructions: { qr_payload: 'other' } } as const
    expect(decide(waiting, verdict('pending', { outcome }))).toBe(waiting)
  })

  test('is not believed when its amount is another one', () => {
    const doubtful = decide(inState('created'), verdict('success of more'))
    expect(doubtful).not.toHaveProperty('p_id')
  })
})

describe('what was not sent', () => {
  test('goes to the next account under a new key, at once', () => {
    const payment = newDeposit({ effects: [] })
    const moved = decide(payment, verdict('not_sent'))
    expect(moved.attempt).toEqual({ number: 2, account_id: 'second', created_at: at })
    expect(moved).toMatchObject({ state: 'created', transition: 1 })
    expect(moved.effects).toEqual([createEffect(moved)])
    expect(createEffect(moved).id).not.toBe(createEffect(payment).id)
  })

  test('fails with 7002 when there is no further account', () => {
    const moved = decide(newDeposit({ effects: [] }), verdict('not_sent'))
    const failed = decide(moved, verdict('not_sent', { attempt: 2 }))
    expect(failed).toMatchObject({ state: 'error', error_code: 7002 })
  })

  test('is not believed of a payment that the provider has spoken of, nor sent anywhere else', () => {
    const known = decide(newDeposit({ effects: [] }), verdict('pending'))
    expect(decide(known, verdict('not_sent'))).toBe(known)
  })
})

test('what waits for the provider goes when the payment has ended; the create that is under way stays', () => {
  const waiting = decide(newDeposit(), verdict('pending'))
  const expiry = { ...createEffect(waiting), id: 'expire', kind: 'expire' }
  const paid = decide({ ...waiting, effects: [...waiting.effects, expiry] }, verdict('success'))
  expect(paid.effects.map(({ kind }) => kind)).toEqual(['provider_create', 'ledger_credit', 'publish_event'])
})
