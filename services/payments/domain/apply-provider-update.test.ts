import { describe, expect, test } from '@jest/globals'
import { isFinal, type PaymentStatus } from '#lib/contract/payment-status.ts'
import type { Effect } from '#lib/patterns/effects/effect.ts'
import { publishEventEffect } from '#lib/patterns/effects/publish-event.ts'
import { CREATE_RESPONSE, CREATED_AT, newDeposit, STATUSES } from '../payment.fixture.ts'
import {
  type AnomalyKind,
  newNotFoundAnomaly,
  newOpenTooLongAnomaly,
  recordAnomalyEffect,
} from './anomaly.ts'
import { applyProviderUpdate, type ProviderUpdate } from './apply-provider-update.ts'
import type { CallResult } from './call-result.ts'
import { endByOperator } from './end-without-report.ts'
import type { Payment } from './payment.ts'
import { createAtProviderEffect, expirePaymentEffect, pollProviderEffect } from './payment-effects.ts'
import { newEventEffect } from './payment-event.ts'

const at = new Date(CREATED_AT.getTime() + 1_000)
const poll_at = new Date(CREATED_AT.getTime() + 3_000)
const completed_at = new Date(CREATED_AT.getTime() + 900)
const REQUESTED = { minor: 150_000n, currency: 'INR' }

/** All results of a provider call, with successes of the requested and of other amounts. */
const RESULTS = {
  success: { kind: 'success', provider_id: 'p-1', amount: REQUESTED, completed_at, utr: 'u-1' },
  'success of more': {
    kind: 'success',
    provider_id: 'p-1',
    amount: { ...REQUESTED, minor: 150_001n },
    completed_at,
  },
  'success in euro': {
    kind: 'success',
    provider_id: 'p-1',
    amount: { ...REQUESTED, currency: 'EUR' },
    completed_at,
  },
  pending: { kind: 'pending', provider_id: 'p-1', instructions: { qr_payload: 'upi://pay' } },
  'pending with more': { kind: 'pending', provider_id: 'p-1', amount: { ...REQUESTED, minor: 150_001n } },
  unknown: { kind: 'unknown', reason: 'reset' },
  not_sent: { kind: 'not_sent', reason: 'refused' },
  declined: { kind: 'declined', code: 6044, provider_id: 'p-1', amount: REQUESTED },
  'declined with less': {
    kind: 'declined',
    code: 6044,
    provider_id: 'p-1',
    amount: { ...REQUESTED, minor: 1n },
  },
  canceled: { kind: 'canceled', code: 6012, provider_id: 'p-1' },
  'canceled in euro': {
    kind: 'canceled',
    code: 6012,
    provider_id: 'p-1',
    amount: { ...REQUESTED, currency: 'EUR' },
  },
} satisfies Record<string, CallResult>

type ResultName = keyof typeof RESULTS
const RESULT_NAMES = Object.keys(RESULTS) as readonly ResultName[]

/** The status after the update, and the anomaly if there is one. */
type ExpectedResult = readonly [PaymentStatus, AnomalyKind?]

const [differs, contradicts] = ['amount_differs', 'contradicts_final_status'] as const

const WHILE_OPEN: Readonly<Record<ResultName, ExpectedResult>> = {
  success: ['success'],
  'success of more': ['processing', differs],
  'success in euro': ['processing', differs],
  pending: ['processing'],
  unknown: ['processing'],
  'pending with more': ['processing', differs],
  not_sent: ['processing'],
  declined: ['error'],
  'declined with less': ['processing', differs],
  canceled: ['canceled'],
  'canceled in euro': ['processing', differs],
}

/** No result changes a final status (P7); some are anomalies. */
function whenFinal(status: PaymentStatus, anomalies: Readonly<Partial<Record<ResultName, AnomalyKind>>>) {
  const rows = RESULT_NAMES.map((name): [ResultName, ExpectedResult] => {
    const anomaly = anomalies[name]
    return [name, anomaly ? [status, anomaly] : [status]]
  })
  return Object.fromEntries(rows)
}

const OTHER_AMOUNT = {
  'pending with more': differs,
  'declined with less': differs,
  'canceled in euro': differs,
}
const UNPAID = {
  ...OTHER_AMOUNT,
  success: contradicts,
  'success of more': contradicts,
  'success in euro': contradicts,
}
const PAID = {
  'pending with more': differs,
  'success of more': differs,
  'success in euro': differs,
  declined: contradicts,
  'declined with less': contradicts,
  canceled: contradicts,
  'canceled in euro': contradicts,
}

const EXPECTED: Readonly<Record<PaymentStatus, Readonly<Record<string, ExpectedResult>>>> = {
  created: { ...WHILE_OPEN, not_sent: ['error'] },
  processing: WHILE_OPEN,
  success: whenFinal('success', PAID),
  partially_refunded: whenFinal('partially_refunded', PAID),
  refunded: whenFinal('refunded', PAID),
  error: whenFinal('error', { ...UNPAID, canceled: contradicts, 'canceled in euro': contradicts }),
  canceled: whenFinal('canceled', { ...UNPAID, declined: contradicts, 'declined with less': contradicts }),
  declined: whenFinal('declined', UNPAID),
}

function updateWith(
  name: ResultName,
  changes: { readonly attempt_number?: number; readonly result?: CallResult } = {},
): ProviderUpdate {
  const create = name === 'not_sent' ? { create: { ...CREATE_RESPONSE, next_attempt_at: at } } : {}
  return { attempt_number: 1, result: RESULTS[name], at, poll_at, ...create, ...changes }
}

/** A payment in a status, on its last account. */
function paymentIn(status: PaymentStatus): Payment {
  return newDeposit({ status, provider_accounts: ['first'], effects: [] })
}

const anomaliesOf = ({ effects }: Payment) =>
  effects.filter(recordAnomalyEffect.matches).map(({ data }) => data['kind'])

describe.each(STATUSES)('a payment in %s', (status) => {
  test.each(RESULT_NAMES)('handles the result %s', (name) => {
    const payment = paymentIn(status)
    const updated = applyProviderUpdate(payment, updateWith(name))
    const [next, anomaly] = EXPECTED[status][name] ?? []
    expect(updated.status).toBe(next)
    expect(anomaliesOf(updated)).toEqual(anomaly ? [anomaly] : [])
    expect(updated.effects.filter(pollProviderEffect.matches)).toHaveLength(next === 'processing' ? 1 : 0)
    if (next === status && !anomaly && isFinal(status)) expect(updated).toBe(payment)
  })

  test.each(RESULT_NAMES)('does not change when the result %s is repeated', (name) => {
    const once = applyProviderUpdate(paymentIn(status), updateWith(name))
    expect(applyProviderUpdate(once, updateWith(name))).toBe(once)
  })

  test.each(RESULT_NAMES)('remembers what may be paid when an earlier attempt has the result %s', (name) => {
    const attempt = { number: 2, account_id: 'second', created_at: at }
    const { attempts: _stamps, ...payment } = newDeposit({ status, attempt, effects: [] })
    const updated = applyProviderUpdate(payment, updateWith(name))
    const is_paid = RESULTS[name].kind === 'success'
    const is_pending = RESULTS[name].kind === 'pending' && !isFinal(status)
    const { earlier_successes, pending_elsewhere, attempts } = updated
    const noted = ['anomalies', 'earlier_successes', 'pending_elsewhere', 'attempts', 'reports']
    const unchanged = Object.entries(updated).filter(([name]) => !noted.includes(name))
    expect(earlier_successes).toEqual(is_paid ? [1] : undefined)
    expect(pending_elsewhere).toEqual(is_pending ? [1] : undefined)
    expect({ ...Object.fromEntries(unchanged), effects: [] }).toEqual(payment)
    expect(anomaliesOf(updated)).toEqual(is_paid ? ['success_of_earlier_attempt'] : [])
    if (!is_paid && !is_pending && !attempts) expect(updated).toBe(payment)
    expect(String(updated.effects[0]?.data['description'] ?? 'first')).toContain('first')
  })
})

// P4
test.each(['declined', 'canceled'] as const)(
  'an attempt that its account called paid, and then %s, ends by the operator only',
  (name) => {
    const open = { ...paymentIn('processing'), earlier_successes: [1] }
    const updated = applyProviderUpdate(open, updateWith(name))
    expect(updated.status).toBe('processing')
    expect(anomaliesOf(updated)).toEqual([contradicts])
    expect(applyProviderUpdate(updated, updateWith('success')).status).toBe('success')
  },
)

// P7
test('no number of reports hides one of another kind, and each kind is bounded', () => {
  const attempt = { number: 3, account_id: 'third', created_at: at }
  const report = (payment: Payment, attempt_number: number, minor: bigint): Payment => {
    const result = { ...RESULTS.success, amount: { minor, currency: 'INR' } } as CallResult
    return applyProviderUpdate(payment, { attempt_number, result, at, poll_at: at })
  }
  const provider_accounts = ['first', 'second', 'third']
  let payment: Payment = newDeposit({ status: 'processing', attempt, provider_accounts, effects: [] })
  for (let minor = 1n; minor <= 20n; minor += 1n) payment = report(payment, 3, minor)
  for (let minor = 1n; minor <= 20n; minor += 1n) expect(report(payment, 3, minor)).toBe(payment)
  for (let minor = 21n; minor <= 30n; minor += 1n) payment = report(payment, 3, minor)
  expect(payment.anomalies).toHaveLength(21)
  for (let minor = 1n; minor <= 30n; minor += 1n) payment = report(payment, 1, minor)
  payment = report(payment, 2, 150_000n)
  const kinds = anomaliesOf(payment)
  expect(kinds.filter((kind) => kind === 'amount_differs')).toHaveLength(21)
  expect(kinds.filter((kind) => kind === 'success_of_earlier_attempt')).toHaveLength(2)
  for (const minor of [1n, 31n]) {
    expect(report(payment, 1, minor)).toBe(payment)
    expect(report(payment, 2, minor)).toBe(payment)
  }
})

describe('a success of an attempt after the operator has decided that the payment was paid', () => {
  const attempt = { number: 2, account_id: 'second', created_at: at }
  const open = newDeposit({ status: 'processing', attempt, effects: [] })
  const decided = (anomaly: Effect) =>
    endByOperator(open, undefined, {
      is_paid: true,
      decision: `${anomaly.data['anomaly_id']}:op-1`,
      at,
      sends_callbacks: true,
    })
  const success = updateWith('success', { attempt_number: 2 })
  const earlier = updateWith('success', { attempt_number: 1 })

  test('because of that attempt agrees with the decision', () => {
    for (const anomaly of [
      newNotFoundAnomaly(open, { attempt_number: 2, at }),
      newOpenTooLongAnomaly(open, { attempt_number: 2, at }),
    ]) {
      const payment = decided(anomaly)
      expect(anomaliesOf(applyProviderUpdate(payment, success))).toEqual([])
    }
  })

  test('because of another amount is an anomaly: the account may have paid twice', () => {
    const more = updateWith('success of more', { attempt_number: 2 })
    const anomaly = applyProviderUpdate(open, more).effects.find(recordAnomalyEffect.matches)
    if (anomaly === undefined) throw new Error('the success with another amount is not an anomaly')
    expect(anomaliesOf(applyProviderUpdate(decided(anomaly), success))).toEqual(['contradicts_final_status'])
  })

  test('because of another attempt is an anomaly: both accounts have paid', () => {
    const [anomaly] = applyProviderUpdate(open, earlier).effects
    if (anomaly === undefined) throw new Error('the success of the earlier attempt is not an anomaly')
    const payment = decided(anomaly)
    expect(anomaliesOf(applyProviderUpdate(payment, success))).toEqual(['contradicts_final_status'])
    for (const name of ['pending', 'unknown'] as const)
      expect(applyProviderUpdate(payment, updateWith(name, { attempt_number: 2 }))).toBe(payment)
  })
})

describe('the details of a provider', () => {
  test('are kept: its id, the UTR, the instructions, the code, the time of a success', () => {
    const waiting = applyProviderUpdate(paymentIn('created'), updateWith('pending'))
    expect(waiting).toMatchObject({ p_id: 'p-1', instructions: { qr_payload: 'upi://pay' } })
    const paid = applyProviderUpdate(waiting, updateWith('success'))
    expect(paid).toMatchObject({ utr: 'u-1', finished_at: completed_at, updated_at: at })
    expect(applyProviderUpdate(waiting, updateWith('declined'))).toMatchObject({ error_code: 6044 })
    expect(applyProviderUpdate(waiting, updateWith('canceled'))).toMatchObject({ error_code: 6012 })
  })

  test('are absent when a refusal names none', () => {
    const result = { kind: 'declined', code: 6044 } as const
    const declined = applyProviderUpdate(paymentIn('created'), updateWith('declined', { result }))
    for (const name of ['p_id', 'utr', 'instructions']) expect(declined).not.toHaveProperty(name)
  })

  test('do not replace values that the customer may have seen', () => {
    const waiting = applyProviderUpdate(paymentIn('created'), updateWith('pending'))
    const result = { kind: 'pending', provider_id: 'p-1', instructions: { qr_payload: 'other' } } as const
    expect(applyProviderUpdate(waiting, updateWith('pending', { result }))).toBe(waiting)
  })

  test.each(['success of more', 'pending with more', 'declined with less'] as const)(
    'are ignored when the amount differs: %s',
    (name) => {
      expect(applyProviderUpdate(paymentIn('created'), updateWith(name))).not.toHaveProperty('p_id')
    },
  )
})

describe('a request that was not sent', () => {
  test('goes to the next account under a new key, at once', () => {
    const payment = newDeposit({ effects: [] })
    const moved = applyProviderUpdate(payment, updateWith('not_sent'))
    expect(moved.attempt).toEqual({ number: 2, account_id: 'second', created_at: at })
    expect(moved).toMatchObject({ status: 'created', history: payment.history })
    const create = createAtProviderEffect.newEffect(moved, {}, { at })
    expect(moved.effects).toEqual([create])
    expect(create.id).not.toBe(createAtProviderEffect.newEffect(payment, {}, { at }).id)
  })

  test('leaves the expiry and the event of the payment as they are, there and on the way back', () => {
    const payment = newDeposit({ effects: [] })
    const waiting = [
      expirePaymentEffect.newEffect(payment, {}, { at }),
      newEventEffect(payment, 'payment.created', { at }),
    ]
    const moved = applyProviderUpdate({ ...payment, effects: waiting }, updateWith('not_sent'))
    const create = createAtProviderEffect.newEffect(moved, {}, { at })
    expect(moved.effects).toEqual([...waiting, create])
    const returned = applyProviderUpdate(moved, updateWith('pending'))
    const poll = pollProviderEffect.newEffect(returned, {}, { at, due_at: poll_at })
    expect(returned.effects).toEqual([...waiting, poll])
  })

  test('fails with 7002 without a further account', () => {
    const moved = applyProviderUpdate(newDeposit({ effects: [] }), updateWith('not_sent'))
    const failed = applyProviderUpdate(moved, updateWith('not_sent', { attempt_number: 2 }))
    expect(failed).toMatchObject({ status: 'error', error_code: 7002 })
  })

  test('changes nothing when the provider has reported on the payment before', () => {
    const pending = applyProviderUpdate(newDeposit({ effects: [] }), updateWith('pending'))
    expect(applyProviderUpdate(pending, updateWith('not_sent'))).toBe(pending)
  })
})

test('a final status removes the poll and the expiry but not a create in progress', () => {
  const waiting = applyProviderUpdate(newDeposit(), updateWith('pending'))
  const expiry = expirePaymentEffect.newEffect(waiting, {}, { at })
  const paid = applyProviderUpdate(
    { ...waiting, effects: [...waiting.effects, expiry] },
    updateWith('success'),
  )
  expect(paid.effects.map(({ kind, data }) => data['posting'] ?? kind)).toEqual([
    createAtProviderEffect.kind,
    'credit',
    publishEventEffect.kind,
  ])
})

describe('an anomaly', () => {
  const withoutEffects = (payment: Payment): Payment => ({ ...payment, effects: [] })

  test('is recorded once, however often the provider repeats its report', () => {
    const recorded = withoutEffects(applyProviderUpdate(paymentIn('error'), updateWith('success')))
    expect(applyProviderUpdate(recorded, updateWith('success'))).toBe(recorded)
  })
})

// P4
describe.each(['declined', 'canceled'] as const)(
  'a payment that another account has called pending',
  (name) => {
    const attempt = { number: 2, account_id: 'second', created_at: at }
    const payment = newDeposit({ status: 'processing', attempt, effects: [] })
    const poll = pollProviderEffect.newEffect(payment, {}, { at, due_at: new Date(at.getTime() + 3_600_000) })
    const noted = applyProviderUpdate({ ...payment, effects: [poll] }, updateWith('pending'))
    const present = updateWith(name, { attempt_number: 2 })

    test(`stays open there when the present attempt is ${name}, until that one is too`, () => {
      const returned = applyProviderUpdate(noted, present)
      expect(returned).toMatchObject({
        status: 'processing',
        attempt: { account_id: 'first' },
        highest_attempt: 2,
      })
      // It is polled as if it had just been sent there.
      const due = returned.effects.filter(pollProviderEffect.matches).map(({ due_at }) => due_at)
      expect(due).toEqual([present.poll_at])
      expect(isFinal(applyProviderUpdate(returned, updateWith(name)).status)).toBe(true)
    })

    test.each([
      ['drops a create that was not tried', 0],
      ['leaves a create that may be on its way', 1],
    ])(`%s when the present attempt is ${name}`, (_what, tries) => {
      const create = { ...createAtProviderEffect.newEffect(noted, {}, { at }), tries }
      const expiry = expirePaymentEffect.newEffect(noted, {}, { at })
      const { effects } = applyProviderUpdate({ ...noted, effects: [create, expiry] }, present)
      const left = effects.filter((effect) => !pollProviderEffect.matches(effect))
      expect(left).toEqual(tries === 0 ? [expiry] : [create, expiry])
    })

    test(`still counts as pending there when another amount is ${name}`, () => {
      const result = { ...RESULTS[name], amount: { minor: 1n, currency: 'INR' } }
      expect(applyProviderUpdate(noted, updateWith(name, { result }))).toBe(noted)
    })

    test(`ends when both are ${name}, in the other order`, () => {
      const failed = applyProviderUpdate(noted, updateWith(name))
      expect(failed).not.toHaveProperty('pending_elsewhere')
      expect(isFinal(applyProviderUpdate(failed, present).status)).toBe(true)
    })
  },
)

// P7
test('a refusal after a success with another amount ends the payment: the anomaly is for the operator', () => {
  const result = { ...RESULTS.success, amount: { minor: 1n, currency: 'INR' } }
  const noted = applyProviderUpdate(paymentIn('processing'), updateWith('success', { result }))
  const failed = applyProviderUpdate(noted, updateWith('declined'))
  expect(failed.status).toBe('error')
  expect(anomaliesOf(failed)).toEqual(['amount_differs'])
})

// P13
test('a UPI deposit gets no web page of its provider, only the instructions of its method', () => {
  const instructions = { qr_payload: 'upi://pay', payment_url: 'https://pay.example.com/' }
  const result = { kind: 'pending', provider_id: 'p-1', instructions } as const
  const updated = applyProviderUpdate(paymentIn('created'), updateWith('pending', { result }))
  expect(updated.instructions).toEqual({ qr_payload: 'upi://pay' })
})
