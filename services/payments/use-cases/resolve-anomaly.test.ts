import { afterEach, beforeEach, describe, expect, test } from '@jest/globals'
import { Unavailable } from '#lib/contract/errors/unavailable.ts'
import { publishEventEffect } from '#lib/patterns/effects/publish-event.ts'
import type { Collection } from '#lib/store/store.ts'
import { type Anomaly, addAnomaly, newNotFoundAnomaly } from '../domain/anomaly.ts'
import { applyProviderUpdate } from '../domain/apply-provider-update.ts'
import { type Payment, requireAdmitted } from '../domain/payment.ts'
import { lookUpLateEffect, pollProviderEffect, reportRefundEffect } from '../domain/payment-effects.ts'
import {
  applyRefundHold,
  beginApproval,
  decideClosing,
  decideReservation,
} from '../domain/refund-transitions.ts'
import { bindRecordAnomaly } from '../effects/report-to-operator.ts'
import { CREATED_AT, newDeposit, newReservation, STATUSES } from '../payment.fixture.ts'
import { openPayments, type PaymentsFixture } from '../payments-store.fixture.ts'
import { keyOfAnomaly, recordAnomaly } from '../store/anomalies.ts'
import { keyOfPayment } from '../store/payments.ts'
import { type ResolveAnomalyRequest, resolveAnomaly } from './resolve-anomaly.ts'

let fixture: PaymentsFixture
beforeEach(async () => {
  fixture = await openPayments()
})
afterEach(async () => {
  await fixture[Symbol.asyncDispose]()
})

const PAID = {
  kind: 'success',
  provider_id: 'p-1',
  amount: { minor: 150_000n, currency: 'INR' },
  completed_at: CREATED_AT,
} as const

/** Stores a payment with one open anomaly, and returns the decision function of the operator. */
async function openAnomaly(changes: Partial<Payment> = {}, sends_callbacks = true, paid_earlier?: number) {
  const { payments, anomalies } = fixture.store
  const deposit = newDeposit({ status: 'processing', effects: [], ...changes })
  const poll = pollProviderEffect.newEffect(deposit, {}, { at: CREATED_AT })
  const polled = { ...deposit, effects: [poll] }
  const reported =
    paid_earlier === undefined
      ? addAnomaly(polled, newNotFoundAnomaly(deposit, { attempt_number: 1, at: CREATED_AT }))
      : applyProviderUpdate(polled, {
          attempt_number: paid_earlier,
          result: PAID,
          at: CREATED_AT,
          poll_at: CREATED_AT,
        })
  const runner = fixture.runner([bindRecordAnomaly(anomalies)])
  const payment = await runner.runEffects(await runner.insert(reported))
  const [anomaly] = await anomalies.find('by_created', {}, { limit: 1 })
  if (anomaly === undefined) throw new Error('the anomaly was not recorded')
  const { anomaly_id } = anomaly
  const decide = (
    kind: ResolveAnomalyRequest['kind'],
    decision: Partial<ResolveAnomalyRequest> = {},
    collection: Collection<Anomaly> = anomalies,
  ) =>
    resolveAnomaly(
      { anomalies: collection, payments, runner, sendsCallbacks: () => sends_callbacks },
      {
        anomaly_id,
        kind,
        amount: kind === 'paid' ? PAID.amount : undefined,
        operation_id: 'op-1',
        note: 'asked the provider',
        ...decision,
      },
    )
  const report = (attempt_number: number) =>
    runner.update(keyOfPayment(payment), (current) =>
      applyProviderUpdate(requireAdmitted(current), {
        attempt_number,
        result: PAID,
        at: CREATED_AT,
        poll_at: CREATED_AT,
      }),
    )
  return { decide, anomaly, report, read: () => payments.get(keyOfPayment(payment)) }
}

const kindsOf = (payment: Pick<Payment, 'effects'> | undefined) =>
  payment?.effects.map(({ kind, data }) => data['posting'] ?? kind)

describe('the operator resolves an anomaly of an open payment', () => {
  test('as paid: the payment succeeds with its credit and its event, and is no longer polled', async () => {
    const { decide, read } = await openAnomaly()
    const resolved = await decide('paid')
    expect(resolved).toMatchObject({
      resolution: { kind: 'paid', operation_id: 'op-1', note: 'asked the provider' },
    })
    expect(resolved).not.toHaveProperty('open_since')
    const payment = await read()
    expect(payment).toMatchObject({ status: 'success' })
    expect(payment).not.toHaveProperty('error_code')
    expect(kindsOf(payment)).toEqual(['credit', publishEventEffect.kind])
  })

  test('as paid at an earlier account: the payment keeps which one it was', async () => {
    const provider_accounts = ['first', 'second', 'third']
    const attempt = { number: 3, account_id: 'third', created_at: CREATED_AT }
    const { decide, read } = await openAnomaly({ provider_accounts, attempt }, true, 2)
    await decide('paid')
    expect(await read()).toMatchObject({ status: 'success', attempt: { number: 3 }, paid_attempt: 2 })
  })

  test('as paid at one of two earlier accounts: it is the one that the anomaly is about', async () => {
    const provider_accounts = ['first', 'second', 'third']
    const attempt = { number: 3, account_id: 'third', created_at: CREATED_AT }
    const { anomaly, decide, read, report } = await openAnomaly({ provider_accounts, attempt }, true, 1)
    await report(2)
    expect(anomaly).toMatchObject({ attempt_number: 1 })
    expect(anomaly.description).toContain('attempt 1: provider account first')
    expect(anomaly.description).toContain('while the payment was processing at attempt 3')
    await decide('paid')
    expect(await read()).toMatchObject({ status: 'success', paid_attempt: 1, earlier_successes: [1, 2] })
  })

  test('as not paid: the payment fails with its event', async () => {
    const { decide, read } = await openAnomaly()
    await decide('not_paid')
    const payment = await read()
    expect(payment).toMatchObject({ status: 'error', error_code: 6044 })
    expect(kindsOf(payment)).toEqual([publishEventEffect.kind])
  })

  // P7
  test.each(['paid', 'not_paid'] as const)(
    'as %s: a provider without callbacks is asked again after an hour',
    async (kind) => {
      const { decide, read } = await openAnomaly({}, false)
      await decide(kind)
      const payment = await read()
      const due_at = new Date((payment?.finished_at?.getTime() ?? 0) + 3_600_000)
      expect(payment?.effects.filter(lookUpLateEffect.matches)).toMatchObject([{ due_at }])
    },
  )

  test('as dismissed: the payment stays as it is', async () => {
    const { decide, read } = await openAnomaly()
    const before = await read()
    await decide('dismissed')
    expect(await read()).toEqual(before)
  })

  test.each([
    ['paid', 'success'],
    ['not_paid', 'error'],
  ] as const)(
    'as %s after its dismissal, because nothing else would end the payment',
    async (kind, status) => {
      const { decide, read } = await openAnomaly()
      await decide('dismissed')
      await expect(decide(kind)).rejects.toMatchObject({ code: 1013 })
      const later = { operation_id: 'op-2' }
      for (const _ of [1, 2])
        expect(await decide(kind, later)).toMatchObject({ resolution: { kind, ...later } })
      expect(await read()).toMatchObject({ status })
      await expect(decide('dismissed')).rejects.toMatchObject({ code: 8801 })
      await expect(decide(kind, { operation_id: 'op-3' })).rejects.toMatchObject({ code: 8801 })
    },
  )
})

// P3
test('an anomaly of a withdrawal that is not admitted can be dismissed, and decides nothing', async () => {
  const { payments, anomalies } = fixture.store
  const { merchant_id, environment, payment_id } = await payments.insert(newReservation())
  const about = { merchant_id, environment, payment_id, anomaly_id: 'a-1', created_at: CREATED_AT }
  await recordAnomaly(anomalies, { ...about, kind: 'ledger_refused', description: 'refused the hold' })
  const deps = { anomalies, payments, runner: fixture.runner(), sendsCallbacks: () => true }
  const request = { anomaly_id: 'a-1', operation_id: 'op-1', note: '' }
  await expect(resolveAnomaly(deps, { ...request, kind: 'not_paid' })).rejects.toMatchObject({ code: 6010 })
  expect(await resolveAnomaly(deps, { ...request, kind: 'dismissed' })).toMatchObject({
    resolution: { kind: 'dismissed' },
  })
})

// P7, S9
describe('the operator resolves an anomaly of a refund', () => {
  const refund_id = 'refund-1'

  /** Stores a deposit, paid at its first account, whose second refund is at its provider and has an open anomaly. */
  async function openRefundAnomaly() {
    const { payments, anomalies } = fixture.store
    const attempt = { number: 2, account_id: 'second', created_at: CREATED_AT }
    const paid = newDeposit({ status: 'success', attempt, paid_attempt: 1, effects: [] })
    const request = { refund_id, c_id: 'c', amount: 400n, reason: '' }
    const earlier = { ...request, refund_id: 'refund-0' }
    const closing = { refund_id: 'refund-0', status: 'rejected', reason: '' } as const
    const closed = decideClosing(decideReservation(paid, earlier, CREATED_AT).payment, closing, CREATED_AT)
    const requested = decideReservation(closed.payment, request, CREATED_AT).payment
    const approving = beginApproval(requested, refund_id, CREATED_AT).payment
    const hold = { refund_id, hold_id: `${refund_id}:hold:1`, refused_code: undefined }
    const approved = applyRefundHold(approving, hold, CREATED_AT)
    const { merchant_id, environment, payment_id } = await payments.insert({ ...approved, effects: [] })
    const about = {
      merchant_id,
      environment,
      payment_id,
      refund_id,
      anomaly_id: 'a-1',
      created_at: CREATED_AT,
    }
    await recordAnomaly(anomalies, { ...about, kind: 'not_found_at_provider', description: '' })
    const sendsCallbacks = (payment: Payment) => payment.attempt.account_id === 'first'
    const decide = (
      kind: ResolveAnomalyRequest['kind'],
      operation_id = 'op-1',
      collection: Collection<Anomaly> = anomalies,
    ) =>
      resolveAnomaly(
        { anomalies: collection, payments, runner: fixture.runner(), sendsCallbacks },
        {
          anomaly_id: 'a-1',
          kind,
          amount: kind === 'paid' ? { minor: 400n, currency: 'INR' } : undefined,
          operation_id,
          note: '',
        },
      )
    return { decide, read: () => payments.get(keyOfPayment(paid)) }
  }

  test.each([
    [
      'paid',
      'completed',
      'partially_refunded',
      ['capture', publishEventEffect.kind, reportRefundEffect.kind],
    ],
    ['not_paid', 'failed', 'success', ['release', reportRefundEffect.kind]],
  ] as const)(
    'as %s: it is %s, with its ledger entry and its reports',
    async (kind, state, status, effects) => {
      const { decide, read } = await openRefundAnomaly()
      expect(await decide(kind)).toMatchObject({ resolution: { kind } })
      const payment = await read()
      expect(payment).toMatchObject({
        status,
        refunds: [{ state: 'rejected' }, { state, operator_decision: 'a-1:op-1' }],
      })
      expect(kindsOf(payment)).toEqual(effects)
    },
  )

  test('as dismissed: it stays as it is', async () => {
    const { decide, read } = await openRefundAnomaly()
    await decide('dismissed')
    expect(await read()).toMatchObject({
      refunds: [{ state: 'rejected' }, { state: 'approved' }],
      effects: [],
    })
  })

  test('once: a repetition completes a decision that a crash interrupted, and no other one replaces it', async () => {
    const { decide, read } = await openRefundAnomaly()
    const replace = () => Promise.reject(new Unavailable('the process ends here'))
    await expect(decide('paid', 'op-1', { ...fixture.store.anomalies, replace })).rejects.toThrow(Unavailable)
    const ended = await read()
    expect(ended).toMatchObject({ refunds: [{ state: 'rejected' }, { state: 'completed' }] })
    await expect(decide('paid', 'op-2')).rejects.toMatchObject({ code: 8801 })
    await expect(decide('not_paid')).rejects.toMatchObject({ code: 1013 })
    await expect(decide('dismissed')).rejects.toMatchObject({ code: 8801 })
    expect(await decide('paid')).toMatchObject({ resolution: { kind: 'paid' } })
    expect((await read())?.refunds).toEqual(ended?.refunds)
  })
})

describe('a decision', () => {
  test('that is repeated exactly returns the same and changes nothing', async () => {
    const { decide, read } = await openAnomaly()
    const first = await decide('paid')
    const payment = await read()
    expect(await decide('paid')).toEqual(first)
    expect(await read()).toEqual(payment)
  })

  test.each([
    ['1013 under the same operation with another resolution', 1013, 'not_paid', {}],
    ['1013 under the same operation with a dismissal', 1013, 'dismissed', {}],
    ['1013 under the same operation with another note', 1013, 'paid', { note: 'other' }],
    ['8801 under another operation', 8801, 'paid', { operation_id: 'op-2' }],
    [
      '9000 under the same operation with another amount',
      9000,
      'paid',
      { amount: { minor: 1n, currency: 'INR' } },
    ],
    ['9000 for an unknown anomaly', 9000, 'paid', { anomaly_id: 'unknown' }],
  ] as const)('is refused with %s', async (_title, code, kind, decision) => {
    const { decide } = await openAnomaly()
    await decide('paid')
    await expect(decide(kind, decision)).rejects.toMatchObject({ code })
  })

  test.each(STATUSES.filter((status) => status !== 'created' && status !== 'processing'))(
    'cannot end a payment in %s: it is refused with 8801, and the anomaly can be dismissed',
    async (status) => {
      const { decide, read } = await openAnomaly({ status })
      const before = await read()
      for (const kind of ['paid', 'not_paid'] as const)
        await expect(decide(kind)).rejects.toMatchObject({ code: 8801 })
      expect(await decide('dismissed')).toMatchObject({ resolution: { kind: 'dismissed' } })
      expect(await read()).toEqual(before)
    },
  )

  test('that a crash interrupted between payment and anomaly is completed by its repetition', async () => {
    const { decide, read } = await openAnomaly()
    const replace = async () => {
      throw new Unavailable('the process ends here')
    }
    const failing = { ...fixture.store.anomalies, replace }
    await expect(decide('paid', {}, failing)).rejects.toThrow(Unavailable)
    expect(await read()).toMatchObject({ status: 'success' })
    await expect(decide('paid', { operation_id: 'op-2' })).rejects.toMatchObject({ code: 8801 })
    await expect(decide('not_paid')).rejects.toMatchObject({ code: 1013 })
    expect(await decide('paid')).toMatchObject({ resolution: { kind: 'paid' } })
    expect((await read())?.history).toHaveLength(2)
  })

  test('to pay is kept when another operator dismisses the anomaly meanwhile', async () => {
    const { decide, anomaly } = await openAnomaly()
    const { anomalies } = fixture.store
    const dismissals: Promise<unknown>[] = []
    const slow: Collection<Anomaly> = {
      ...anomalies,
      async replace(...call) {
        dismissals.push(decide('dismissed', { operation_id: 'op-2' }))
        await Promise.allSettled(dismissals)
        return anomalies.replace(...call)
      },
    }
    await decide('paid', {}, slow)
    for (const dismissal of dismissals) await expect(dismissal).rejects.toMatchObject({ code: 8801 })
    expect(await anomalies.get(keyOfAnomaly(anomaly))).toMatchObject({
      resolution: { kind: 'paid', operation_id: 'op-1' },
    })
  })

  test('to pay replaces a dismissal that was made without having seen it', async () => {
    const { decide, read, anomaly } = await openAnomaly()
    const { anomalies } = fixture.store
    const interrupted = {
      ...anomalies,
      replace: () => Promise.reject(new Unavailable('the process ends here')),
    }
    await expect(decide('paid', {}, interrupted)).rejects.toThrow(Unavailable)
    const current = await anomalies.get(keyOfAnomaly(anomaly))
    if (current === undefined) throw new Error('the anomaly is gone')
    const resolution = { kind: 'dismissed', operation_id: 'op-2', note: '', at: CREATED_AT } as const
    await anomalies.replace({ ...current, resolution }, current.version)
    const resolved = { resolution: { kind: 'paid', operation_id: 'op-1' } }
    expect(await decide('paid')).toMatchObject(resolved)
    expect(await decide('paid')).toMatchObject(resolved)
    expect(await read()).toMatchObject({ status: 'success' })
  })

  test('of several operators at once ends the payment once, and that one is on record', async () => {
    const { decide, read, anomaly } = await openAnomaly()
    const kinds = ['paid', 'not_paid', 'paid', 'not_paid', 'dismissed'] as const
    const results = await Promise.allSettled(
      kinds.map((kind, number) => decide(kind, { operation_id: `op-${number}` })),
    )
    const made = results.flatMap((result) => (result.status === 'fulfilled' ? [result.value.resolution] : []))
    const ends = made.filter((resolution) => resolution?.kind !== 'dismissed')
    const stored = await fixture.store.anomalies.get(keyOfAnomaly(anomaly))
    expect(stored?.resolution).toEqual(ends[0] ?? made[0])
    expect((await read())?.history).toHaveLength(1 + ends.length)
    expect(ends.length).toBeLessThanOrEqual(1)
  })
})
