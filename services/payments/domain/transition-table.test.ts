import { describe, expect, test } from '@jest/globals'
import { CREATED_AT, newDeposit, STATES } from '../payment.fixture.ts'
import type { PaymentState } from './payment.ts'
import { enter } from './transition.ts'
import { EVENT_OF, isSettled, mayGo } from './transition-table.ts'

/** P6, written down a second time. */
const ALLOWED = new Set([
  'created processing',
  'created success',
  'created error',
  'created canceled',
  'created declined',
  'processing success',
  'processing error',
  'processing canceled',
  'processing declined',
  'success partially_refunded',
  'success refunded',
  'partially_refunded partially_refunded',
  'partially_refunded refunded',
])

const pairs = STATES.flatMap((from) => STATES.map((to): [PaymentState, PaymentState] => [from, to]))
const at = new Date(CREATED_AT.getTime() + 1_000)

describe.each(pairs)('from %s to %s', (from, to) => {
  const payment = newDeposit({ state: from })

  if (!ALLOWED.has(`${from} ${to}`)) {
    test('no payment goes', () => {
      expect(mayGo(from, to)).toBe(false)
      expect(() => enter(payment, to, { at })).toThrow(`cannot go from ${from} to ${to}`)
    })
    return
  }

  test('a payment goes, and its history and its events go with it', () => {
    const entered = enter(payment, to, { at })
    expect(entered).toMatchObject({ state: to, transition: 2, updated_at: at })
    expect(entered.history).toEqual([...payment.history, { state: to, at, amount: payment.amount }])
    const events = entered.effects.filter(({ lane }) => lane === 'event')
    expect(events.map(({ data }) => data['event'])).toEqual(EVENT_OF[to] ? [EVENT_OF[to]] : [])
    expect(events.map(({ id }) => id)).toEqual(EVENT_OF[to] ? [`${payment.payment_id}:2:event`] : [])
  })

  test('it has an end exactly when it is settled', () => {
    expect(enter(payment, to, { at }).finished_at).toEqual(isSettled(to) ? at : undefined)
  })
})

test('a paid deposit is credited before its event is told, under the id of its transition', () => {
  const { effects, payment_id } = enter(newDeposit(), 'success', { at })
  expect(effects.slice(-2)).toMatchObject([
    { id: `${payment_id}:2:credit`, kind: 'ledger_credit', lane: 'money' },
    { id: `${payment_id}:2:event`, after: `${payment_id}:2:credit` },
  ])
})

test('what is no paid deposit is not credited', () => {
  const credited = STATES.filter((to) => mayGo('created', to)).filter((to) =>
    enter(newDeposit(), to, { at }).effects.some(({ kind }) => kind === 'ledger_credit'),
  )
  expect(credited).toEqual(['success'])
  const withdrawal = enter(newDeposit({ direction: 'out' }), 'success', { at })
  expect(withdrawal.effects.some(({ lane }) => lane === 'money')).toBe(false)
})

test('a success has the time that the provider gives, not that of our learning it', () => {
  const finished_at = new Date(CREATED_AT.getTime() + 500)
  expect(enter(newDeposit(), 'success', { at, finished_at }).finished_at).toBe(finished_at)
})
