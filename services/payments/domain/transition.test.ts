import { describe, expect, test } from '@jest/globals'
import { ERROR_TABLE } from '#lib/contract/errors/error-table.ts'
import { DIRECTIONS, type Direction } from '#lib/contract/payment-methods.ts'
import { isFinal, type PaymentStatus } from '#lib/contract/payment-status.ts'
import { CREATED_AT, newDeposit, STATUSES } from '../payment.fixture.ts'
import {
  expirePaymentEffect,
  pollProviderEffect,
  postEntryEffect,
  repeatCreateEffect,
  reportOpenEffect,
} from './payment-effects.ts'
import { EVENT_OF } from './payment-event.ts'
import { canTransition, transition } from './transition.ts'

/** The transitions of P6, written a second time. */
const ALLOWED = {
  in: [
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
  ],
  out: [
    'created processing',
    'created success',
    'created error',
    'created canceled',
    'processing success',
    'processing error',
    'processing canceled',
  ],
}

const triples = DIRECTIONS.names.flatMap((direction) =>
  STATUSES.flatMap((from) =>
    STATUSES.map((to): [Direction, PaymentStatus, PaymentStatus] => [direction, from, to]),
  ),
)
const at = new Date(CREATED_AT.getTime() + 1_000)

describe.each(triples)('a transition of direction %s from %s to %s', (direction, from, to) => {
  const payment = newDeposit({ direction, status: from })

  if (!ALLOWED[direction].includes(`${from} ${to}`)) {
    test('is forbidden', () => {
      expect(canTransition(payment, to)).toBe(false)
      expect(() => transition(payment, to, { at })).toThrow(`transition from ${from} to ${to}`)
    })
    return
  }

  // P10
  test('changes the status and adds the history entry and the event', () => {
    const changed = transition(payment, to, { at })
    expect(changed).toMatchObject({ status: to, updated_at: at })
    expect(changed.history).toEqual([...payment.history, { status: to, at, amount: payment.amount }])
    const events = changed.effects.filter(({ lane }) => lane === 'event')
    expect(events.map(({ data }) => data['event'])).toEqual(EVENT_OF[to] ? [EVENT_OF[to]] : [])
    expect(events.map(({ id }) => id)).toEqual(EVENT_OF[to] ? [`${payment.payment_id}:${to}:event`] : [])
  })

  test('sets the finish time exactly when the new status is final', () => {
    expect(transition(payment, to, { at }).finished_at).toEqual(isFinal(to) ? at : undefined)
  })
})

// P18
test('a successful deposit is credited under an id without its path, before its event', () => {
  const { effects, payment_id } = transition(newDeposit(), 'success', { at })
  expect(effects.slice(-2)).toMatchObject([
    { id: `${payment_id}:credit`, kind: postEntryEffect.kind, lane: 'money', data: { posting: 'credit' } },
    { id: `${payment_id}:success:event`, after: `${payment_id}:credit` },
  ])
})

test('only a successful deposit is credited', () => {
  const credited = STATUSES.filter((to) => canTransition(newDeposit(), to)).filter((to) =>
    transition(newDeposit(), to, { at }).effects.some(postEntryEffect.matches),
  )
  expect(credited).toEqual(['success'])
})

// P9
test.each([
  ['success', 'capture'],
  ['error', 'release'],
  ['canceled', 'release'],
] as const)('a withdrawal with the status %s has the %s of its hold before its event', (to, posting) => {
  for (const status of ['created', 'processing'] as const) {
    const { effects, payment_id } = transition(newDeposit({ direction: 'out', status }), to, { at })
    expect(effects.slice(-2)).toMatchObject([
      { id: `${payment_id}:${posting}`, kind: postEntryEffect.kind, lane: 'money', data: { posting } },
      { id: `${payment_id}:${to}:event`, after: `${payment_id}:${posting}` },
    ])
  }
})

test('a withdrawal keeps its hold while it is in progress', () => {
  const { effects } = transition(newDeposit({ direction: 'out' }), 'processing', { at })
  expect(effects.filter(({ lane }) => lane === 'money')).toEqual([])
})

// P7
test('a repeated create that is on its way stays: its response may contradict the end', () => {
  const processing = newDeposit({ status: 'processing', effects: [] })
  const sent = { ...repeatCreateEffect.newEffect(processing, {}, { at }), tries: 1 }
  expect(transition({ ...processing, effects: [sent] }, 'canceled', { at }).effects).toContain(sent)
})

test('a refund does not change when its payment was finished', () => {
  const payment = newDeposit({ status: 'success', finished_at: CREATED_AT })
  expect(transition(payment, 'partially_refunded', { at }).finished_at).toBe(CREATED_AT)
})

// P10
test('the history names the reason of a failure in the words of the error table, and of nothing else', () => {
  const reasonOf = (to: PaymentStatus, error_code?: 6044) => {
    const details = error_code === undefined ? { at } : { at, error_code }
    return transition(newDeposit(), to, details).history.at(-1)?.reason
  }
  expect(reasonOf('error', 6044)).toBe(ERROR_TABLE[6044].message)
  expect(reasonOf('success')).toBeUndefined()
})

test("a success has the provider's time, not the time at which it was reported", () => {
  const finished_at = new Date(CREATED_AT.getTime() + 500)
  expect(transition(newDeposit(), 'success', { at, finished_at }).finished_at).toBe(finished_at)
})

test.each(STATUSES.filter((to) => canTransition(newDeposit({ status: 'processing' }), to)))(
  'polls, the repetition of the create, the expiry and the report of an open payment end with the status %s',
  (to) => {
    const processing = newDeposit({ status: 'processing', effects: [] })
    const ended = [pollProviderEffect, repeatCreateEffect, expirePaymentEffect, reportOpenEffect]
    const effects = ended.map((effect) => effect.newEffect(processing, {}, { at }))
    const { effects: left } = transition({ ...processing, effects }, to, { at })
    expect(left.filter(({ id }) => effects.some((one) => one.id === id))).toEqual([])
  },
)
