import { Code, ConnectError } from '@connectrpc/connect'
import { expect, test } from '@jest/globals'
import { Environment } from '#gen/multihub/common/v1/environment_pb.ts'
import { now } from '#lib/base/time.ts'
import { publishEventEffect } from '#lib/patterns/effects/publish-event.ts'
import type { PaymentRoute } from '../domain/payment.ts'
import {
  createAtProviderEffect,
  discardRefusedEffect,
  holdFundsEffect,
  recordRefusalEffect,
  reportOpenEffect,
} from '../domain/payment-effects.ts'
import { newReservation, WITHDRAWAL_ROUTE } from '../payment.fixture.ts'
import { openPayments, type PaymentsFixture } from '../payments-store.fixture.ts'
import { bindHoldFunds } from './post-to-ledger.ts'
import { type ScriptedLedger, scriptedLedger } from './scripted-ledger.fixture.ts'

const LIMITS = {
  timezone: 'Asia/Kolkata',
  maximum: 1n,
  daily: 2n,
  monthly: 3n,
  since_settlement: 4n,
}
const findRoute = async (service_id: string): Promise<PaymentRoute | undefined> =>
  service_id === WITHDRAWAL_ROUTE.service_id ? { ...WITHDRAWAL_ROUTE, withdrawal_limits: LIMITS } : undefined

/** Stores a withdrawal and runs the effect of its hold. Effects of all other kinds are left as they are. */
async function reserve(fixture: PaymentsFixture, { client }: ScriptedLedger, tries = 0) {
  const runner = fixture.runner([bindHoldFunds({ ledger: client, findRoute })])
  const reservation = newReservation({ created_at: now() })
  const effects = reservation.effects.map((effect) => ({ ...effect, tries }))
  return runner.runEffects(await runner.insert({ ...reservation, effects }))
}

const kindsOf = ({ effects }: { readonly effects: readonly { readonly kind: string }[] }): string[] =>
  effects.map(({ kind }) => kind)

// P3
test('a withdrawal that the ledger admits is created, announced and sent to its provider', async () => {
  await using fixture = await openPayments()
  const ledger = scriptedLedger()
  const payment = await reserve(fixture, ledger)
  expect(ledger.holds).toMatchObject([
    {
      merchantId: payment.merchant_id,
      environment: Environment.TEST,
      holdId: `${payment.payment_id}:hold`,
      paymentId: payment.payment_id,
      amount: { minor: payment.amount, currency: payment.currency },
      limits: {
        serviceId: '501',
        timezone: 'Asia/Kolkata',
        maximum: 1n,
        daily: 2n,
        monthly: 3n,
        sinceSettlement: 4n,
      },
    },
  ])
  expect(payment).toMatchObject({ status: 'created' })
  // E15: `timestamps.created` is the time of the request, not of the ledger's decision.
  expect(payment.history).toEqual([{ status: 'created', at: payment.created_at, amount: payment.amount }])
  expect(payment.attempt.created_at).toEqual(payment.updated_at)
  expect(kindsOf(payment)).toEqual([
    createAtProviderEffect.kind,
    publishEventEffect.kind,
    reportOpenEffect.kind,
  ])
})

// P3
test.each([6004, 6005, 6006, 6035])(
  'a withdrawal that the ledger refuses with %d has no history and no event, and is to be discarded',
  async (code) => {
    await using fixture = await openPayments()
    const refused = await reserve(
      fixture,
      scriptedLedger(() => code),
    )
    expect(refused).toMatchObject({ status: 'refused', error_code: code, history: [] })
    expect(kindsOf(refused)).toEqual([recordRefusalEffect.kind, discardRefusedEffect.kind])
  },
)

test.each([
  ['its answer is lost', () => Promise.reject(new Error('the answer is lost'))],
  ['it refuses with an unknown code', () => 1],
])('a withdrawal stays reserved, and is asked about again, when %s', async (_what, decide) => {
  await using fixture = await openPayments()
  const ledger = scriptedLedger(decide)
  const withdrawal = await reserve(fixture, ledger)
  expect(withdrawal).toMatchObject({ status: 'reserving', history: [], money_due_at: expect.any(Date) })
  expect(kindsOf(withdrawal)).toEqual([holdFundsEffect.kind])
})

test('a hold with a lost answer is asked for again under the same id', async () => {
  await using fixture = await openPayments()
  let is_lost = true
  const ledger = scriptedLedger(() => {
    if (is_lost) throw new Error('the answer is lost')
    return 0
  })
  const withdrawal = await reserve(fixture, ledger)
  is_lost = false
  const [effect] = withdrawal.effects
  if (!effect) throw new Error('the withdrawal has no effect')
  const change = await bindHoldFunds({ ledger: ledger.client, findRoute }).run(effect, withdrawal)
  expect(change({ ...withdrawal, effects: [] })).toMatchObject({ status: 'created' })
  expect(new Set(ledger.holds.map(({ holdId }) => holdId))).toEqual(
    new Set([`${withdrawal.payment_id}:hold`]),
  )
})

// B4.4
test('a hold that an unavailable ledger has not decided for days is tried again', async () => {
  await using fixture = await openPayments()
  const ledger = scriptedLedger(() => Promise.reject(new ConnectError('stopped', Code.Unavailable)))
  const { effects } = await reserve(fixture, ledger, 100_000)
  expect(ledger.holds).toHaveLength(1)
  expect(effects).toMatchObject([{ kind: holdFundsEffect.kind, tries: 100_001 }])
  expect(effects[0]).not.toHaveProperty('stuck')
})
