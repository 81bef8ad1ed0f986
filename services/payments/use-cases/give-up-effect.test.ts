import { create } from '@bufbuild/protobuf'
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals'
import { LedgerEntryKind } from '#gen/multihub/balances/v1/balance_pb.ts'
import { GetEntryResponseSchema } from '#gen/multihub/balances/v1/balance_service_pb.ts'
import type { ErrorCode } from '#lib/contract/errors/error-table.ts'
import { fieldError, PublicError } from '#lib/contract/errors/public-error.ts'
import { Unavailable } from '#lib/contract/errors/unavailable.ts'
import { withDueTimes } from '#lib/patterns/effects/effect.ts'
import { publishEventEffect } from '#lib/patterns/effects/publish-event.ts'
import type { Collection } from '#lib/store/store.ts'
import { eventually } from '../../../test/support/eventually.ts'
import { type Anomaly, addAnomaly, newLedgerRefusalAnomaly } from '../domain/anomaly.ts'
import { hasEnded } from '../domain/erase-payment.ts'
import type { GivingUp } from '../domain/give-up-entry.ts'
import { requireAdmitted, type StoredPayment } from '../domain/payment.ts'
import { createAtProviderEffect, holdFundsEffect } from '../domain/payment-effects.ts'
import { transition } from '../domain/transition.ts'
import { bindPostEntry, type LedgerClient } from '../effects/post-to-ledger.ts'
import { bindCloseAnomaly, bindRecordAnomaly } from '../effects/report-to-operator.ts'
import { scriptedLedger } from '../effects/scripted-ledger.fixture.ts'
import { CREATED_AT as at, newDeposit, newReservation } from '../payment.fixture.ts'
import { openPayments, type PaymentsFixture } from '../payments-store.fixture.ts'
import { keyOfPayment } from '../store/payments.ts'
import { type GiveUpEffectDeps, giveUpEffect } from './give-up-effect.ts'
import { retryEffect } from './retry-effect.ts'

let fixture: PaymentsFixture
beforeEach(async () => {
  fixture = await openPayments()
})
afterEach(async () => {
  await fixture[Symbol.asyncDispose]()
})

const deposit = newDeposit({ effects: [] })
const { payment_id } = deposit
const EFFECT_ID = `${payment_id}:credit`
const CORRECTION = {
  kind: LedgerEntryKind.ADJUSTMENT,
  paymentId: payment_id,
  amount: { minor: 1n, currency: 'INR' },
}
const GIVING_UP = { effect_id: EFFECT_ID, entry_id: 'adjust:7001:a', operation_id: 'op-1', note: 'case 17' }

/** The balances with these entries. An `Error` is what reading the entry comes to. */
function balancesWith(
  entries: Readonly<Record<string, object | Error>> = { 'adjust:7001:a': CORRECTION },
): GiveUpEffectDeps['balances'] {
  return {
    async getEntry({ entryId = '' }) {
      const entry = entries[entryId]
      if (entry instanceof Error) throw entry
      if (entry === undefined) throw fieldError(1003, 'entry_id')
      return create(GetEntryResponseSchema, { entry: { entryId, ...entry } })
    },
  }
}

/** Stores a paid deposit whose credit the ledger refuses with a code, and returns what the operator can do. */
async function storeRefused(code: ErrorCode) {
  const { payments, anomalies } = fixture.store
  let refusal: ErrorCode | undefined = code
  const { client } = scriptedLedger()
  const post: LedgerClient['postTransfer'] = async () => {
    if (refusal !== undefined) throw new PublicError(refusal)
    return {} as never
  }
  const published: string[] = []
  const publish = publishEventEffect.bind<StoredPayment>({
    lease_ms: 60_000,
    tries_max: 3,
    async run({ data }) {
      published.push(data.event_key)
      return (current) => current
    },
  })
  const effects = [
    bindPostEntry({ ...client, postTransfer: post }),
    bindRecordAnomaly(anomalies),
    bindCloseAnomaly(anomalies),
    publish,
  ]
  const runner = fixture.runner(effects)
  await runner.runEffects(await runner.insert(transition(deposit, 'success', { at })))
  const key = keyOfPayment(deposit)
  return {
    published,
    giveUp: (changes: Partial<GivingUp> = {}, balances = balancesWith(), others = runner) =>
      giveUpEffect({ payments, runner: others, balances }, payment_id, { ...GIVING_UP, ...changes }),
    retry: () => retryEffect({ payments, runner }, payment_id, EFFECT_ID),
    async stored() {
      const found = await payments.get(key)
      if (found === undefined) throw new Error('the deposit is gone')
      return requireAdmitted(found)
    },
    anomaly: async () => (await anomalies.find('by_created', {}, { limit: 2 }))[0],
    runnerOn: (collection: Collection<StoredPayment>) => fixture.runner(effects, { collection }),
    stopRefusing: () => {
      refusal = undefined
    },
  }
}

const isResolved = (anomaly: Anomaly | undefined) => anomaly?.resolution !== undefined

// P7
test.each<ErrorCode>([1013, 8801])(
  'gives up an entry that the ledger refuses with %d: its event is sent, and its anomaly is dismissed',
  async (code) => {
    const { giveUp, published, stored, anomaly } = await storeRefused(code)
    expect(published).toEqual([])
    expect(await giveUp()).toMatchObject({ payment_id, status: 'success' })
    expect(await eventually<Anomaly | undefined>(anomaly, isResolved)).toMatchObject({
      kind: 'ledger_refused',
      resolution: { kind: 'dismissed', operation_id: 'op-1', note: 'case 17' },
    })
    const ended = await eventually(stored, (current) => current?.effects.length === 0)
    expect(published).toEqual([`${payment_id}:success`])
    expect(ended).not.toHaveProperty('stuck_at')
    expect(ended?.corrections).toEqual([
      { effect_id: EFFECT_ID, entry_id: 'adjust:7001:a', operation_id: 'op-1', at: expect.any(Date) },
    ])
    // It can be erased and archived as every other payment.
    expect(ended && hasEnded(ended)).toBe(true)
  },
)

// P7
test.each<ErrorCode>([6001, 9000])(
  'refuses with 8801 to give up an entry that a retry can still post: the ledger refused it with %d',
  async (code) => {
    const { giveUp, stored, retry, stopRefusing } = await storeRefused(code)
    const reason = expect.stringContaining('mend the cause, and retry')
    await expect(giveUp()).rejects.toMatchObject({ code: 8801, details: { reason } })
    expect((await stored()).effects).toMatchObject([{ id: EFFECT_ID, stuck: true }, {}])
    stopRefusing()
    expect((await retry()).effects.some(({ id }) => id === EFFECT_ID)).toBe(false)
  },
)

// P7
describe('refuses with 8801 what is not a stuck entry', () => {
  const refused = (payment: StoredPayment, effect_id: string, reason?: string) =>
    expect(
      giveUpEffect({ ...fixture.deps(), balances: balancesWith() }, payment.payment_id, {
        ...GIVING_UP,
        effect_id,
      }),
    ).rejects.toMatchObject({
      code: 8801,
      ...(reason && { details: { reason: expect.stringContaining(reason) } }),
    })

  test.each(['withdrawal', 'refund'] as const)('the hold of a %s, which has moved nothing', async (kind) => {
    const withdrawal = newReservation()
    const [own] = withdrawal.effects
    const of_refund = holdFundsEffect.newEffect(deposit, { hold_id: 'r:hold:1', refund_id: 'r' }, { at })
    const held = kind === 'withdrawal' ? withdrawal : deposit
    const effect = { ...((kind === 'withdrawal' && own) || of_refund), tries: 1, stuck: true }
    const anomaly = newLedgerRefusalAnomaly(held, { entry: effect, code: 1013, at })
    const payment = { ...addAnomaly({ ...held, effects: [effect] }, anomaly), stuck_at: at }
    await fixture.store.payments.insert(payment)
    await refused(payment, effect.id, 'a hold is not given up')
  })

  test('a call to a provider, an event, and an effect that the payment does not have', async () => {
    const paid = transition(deposit, 'success', { at })
    const call = createAtProviderEffect.newEffect(paid, {}, { at })
    const stuck = [call, ...paid.effects.filter(publishEventEffect.matches)]
    const effects = stuck.map((effect) => ({ ...effect, tries: 9, stuck: true }))
    await fixture.store.payments.insert({ ...paid, effects, stuck_at: at })
    for (const id of [...stuck.map((effect) => effect.id), 'unknown']) await refused(paid, id)
  })

  test('an unknown payment is 6010', async () => {
    const unknown = giveUpEffect({ ...fixture.deps(), balances: balancesWith() }, 'unknown', GIVING_UP)
    await expect(unknown).rejects.toMatchObject({ code: 6010 })
  })
})

// P7
test.each<[string, object | undefined]>([
  ['that the ledger does not have', undefined],
  ['that is no adjustment', { kind: LedgerEntryKind.TRANSFER }],
  ['that the ledger refused', { refusedCode: 6001 }],
  ['of another payment', { paymentId: 'another' }],
  ['of no payment', { paymentId: '' }],
  ['in another currency', { amount: { minor: 1n, currency: 'EUR' } }],
])('refuses a correction %s with 9000, and changes nothing', async (_what, changes) => {
  const { giveUp, stored } = await storeRefused(1013)
  const balances = balancesWith(changes && { 'adjust:7001:a': { ...CORRECTION, ...changes } })
  const entry_id = changes === undefined ? 'adjust:7001:none' : 'adjust:7001:a'
  const refusal = { code: 9000, details: { description: 'correction_entry_id' } }
  await expect(giveUp({ entry_id }, balances)).rejects.toMatchObject(refusal)
  expect((await stored()).effects).toMatchObject([{ id: EFFECT_ID, stuck: true }, {}])
})

// P7
test('changes nothing while the ledger cannot say whether it has the correction', async () => {
  const { giveUp, stored } = await storeRefused(1013)
  const balances = balancesWith({ 'adjust:7001:a': new Unavailable('down') })
  await expect(giveUp({}, balances)).rejects.toBeInstanceOf(Unavailable)
  expect((await stored()).effects).toHaveLength(2)
  expect(await giveUp()).toMatchObject({ corrections: [{}] })
})

// O12
test('a repetition changes nothing and needs no ledger; another decision is refused with 1013 or 8801', async () => {
  const { giveUp, stored, published } = await storeRefused(1013)
  await giveUp()
  const { version } = (await eventually(stored, (current) => current?.effects.length === 0)) ?? {}
  const without_ledger = balancesWith({ 'adjust:7001:a': new Unavailable('down') })
  expect(await giveUp({}, without_ledger)).toMatchObject({ version })
  for (const changes of [{ entry_id: 'adjust:7001:b' }, { effect_id: `${payment_id}:debit` }])
    await expect(giveUp(changes)).rejects.toMatchObject({ code: 1013 })
  await expect(giveUp({ operation_id: 'op-2' })).rejects.toMatchObject({ code: 8801 })
  expect(published).toHaveLength(1)
  expect(await stored()).toMatchObject({ version, corrections: [{}] })
})

// P7
test('of operators at the same time one gives it up, and a retry then finds nothing', async () => {
  const { giveUp, retry, stored, published } = await storeRefused(1013)
  const acts = ['op-1', 'op-2', 'op-1'].map((operation_id) => giveUp({ operation_id }))
  const results = await Promise.allSettled(acts)
  const refused = results.flatMap((result) => (result.status === 'rejected' ? [result.reason] : []))
  expect(new Set(refused.map(({ code }) => code))).toEqual(new Set([8801]))
  await expect(retry()).rejects.toMatchObject({ code: 8801 })
  await eventually(stored, (current) => current?.effects.length === 0)
  expect((await stored()).corrections).toHaveLength(1)
  expect(published).toHaveLength(1)
})

// P7
test('an entry that is being retried is not given up: what the ledger says then counts', async () => {
  const { giveUp, retry, stored, stopRefusing } = await storeRefused(1013)
  stopRefusing()
  const [retried, given_up] = await Promise.allSettled([retry(), giveUp()])
  const winners = [retried, given_up].filter(({ status }) => status === 'fulfilled')
  expect(winners).toHaveLength(1)
  const ended = await eventually(stored, (current) => current?.effects.length === 0)
  expect(ended?.corrections ?? []).toHaveLength(given_up.status === 'fulfilled' ? 1 : 0)
})

// P7
test.each(['before', 'after'])(
  'a crash %s the write is mended by a repetition and the sweeper',
  async (when) => {
    const { giveUp, stored, anomaly, published, runnerOn } = await storeRefused(1013)
    const { payments } = fixture.store
    const dying = runnerOn({
      ...payments,
      async replace(document, version) {
        if (when === 'after') await payments.replace(document, version)
        throw new Unavailable('killed')
      },
    })
    await expect(giveUp({}, undefined, dying)).rejects.toBeInstanceOf(Unavailable)
    await dying.stop()
    expect((await stored()).corrections ?? []).toHaveLength(when === 'after' ? 1 : 0)
    // The leases of the process that died end.
    const left = await stored()
    const effects = left.effects.map(({ lease: _, ...effect }) => effect)
    await payments.replace(withDueTimes({ ...left, effects }, at), left.version)
    const next = runnerOn(payments)
    next.start()
    expect(await giveUp({}, undefined, next)).toMatchObject({ corrections: [{ operation_id: 'op-1' }] })
    await eventually(stored, (current) => current?.effects.length === 0)
    expect(published).toHaveLength(1)
    expect(await anomaly()).toMatchObject({ resolution: { operation_id: 'op-1' } })
  },
)
