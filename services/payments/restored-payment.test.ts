import { afterAll, beforeAll, expect, test } from '@jest/globals'
import fc from 'fast-check'
import { testKeys, testMasterKey } from '#lib/base/crypto/keys.fixture.ts'
import { uuidv7 } from '#lib/base/ids.ts'
import { now, useClock } from '#lib/base/time.ts'
import { DIRECTIONS } from '#lib/contract/payment-methods.ts'
import { type AdjustableClock, createAdjustableClock } from '../../test/support/adjustable-clock.ts'
import { eventually } from '../../test/support/eventually.ts'
import { propertyRuns } from '../../test/support/property-runs.ts'
import { openTestStore } from '../../test/support/store.ts'
import { newOutside, type Outside, type Scenario, startCrashingProcess } from './crashing-process.fixture.ts'
import { keyOfMovedAnomaly } from './domain/account-identity.ts'
import type { CreatePaymentRequest } from './domain/new-payment.ts'
import type { StoredPayment } from './domain/payment.ts'
import { adoptClaim } from './domain/payment-claims.ts'
import { createAtProviderEffect, findRestoredEffect } from './domain/payment-effects.ts'
import { ledgerEntriesOf } from './domain/payment-requirements.ts'
import { operations } from './operations.ts'
import { FINGERPRINT, newDeposit } from './payment.fixture.ts'
import { openPayments, type PaymentsFixture } from './payments-store.fixture.ts'
import { rememberAccounts } from './store/known-accounts.ts'
import { keyOfPayment } from './store/payments.ts'
import { openPaymentsStore, type PaymentsStore } from './store/payments-store.ts'
import { createPayment } from './use-cases/create-payment.ts'

const MINUTE_MS = 60_000

let clock: AdjustableClock
let restoreClock: () => void
let fixture: PaymentsFixture
beforeAll(async () => {
  clock = createAdjustableClock()
  restoreClock = useClock(clock)
  fixture = await openPayments()
  const accounts = ['first', 'second'].map((account_id) => ({
    fingerprint: FINGERPRINT,
    account: { account_id },
  }))
  await rememberAccounts(fixture.store.known_accounts, accounts)
})
afterAll(async () => {
  await fixture[Symbol.asyncDispose]()
  restoreClock()
})

function newRequest({ direction = 'out' }: Scenario): CreatePaymentRequest {
  const beneficiary = { account_id: '123456789012', ifsc: 'SBIN0001234' }
  return {
    merchant_id: '7001',
    environment: 'test',
    policy: { service_ids: [], currencies: [] },
    service_id: '501',
    direction,
    c_id: uuidv7(),
    amount: 150_000n,
    currency: 'INR',
    ...(direction === 'out' && { beneficiary }),
  }
}

/** The store as a process sees it that keeps each version of a payment: what a backup may hold of it. */
function withVersions(store: PaymentsStore, versions: StoredPayment[]): PaymentsStore {
  const keep = (document: StoredPayment): void => {
    versions.push(document)
  }
  const { insert, replace } = store.payments
  return {
    ...store,
    payments: {
      ...store.payments,
      insert: async (document, options) => {
        const stored = await insert(document, options)
        keep(document)
        return stored
      },
      replace: async (document, version) => {
        const stored = await replace(document, version)
        keep(document)
        return stored
      },
    },
  }
}

/** Waits until nothing is left to do for the payment. Time passes meanwhile, because polls come after a minute. */
function untilEnded({ payments }: PaymentsStore, request: CreatePaymentRequest) {
  const { merchant_id, environment, c_id } = request
  return eventually(
    () => {
      clock.stepWall(10_000)
      return payments.get({ merchant_id, environment, c_id })
    },
    (current) => current?.effects.length === 0,
  )
}

/** An account that would take a second order, of any key. */
const ACCEPTING = { at_first: 'success', later: 'success' } as const

interface Life {
  readonly request: CreatePaymentRequest
  readonly outside: Outside
  /** The payment after each of its writes. */
  readonly versions: StoredPayment[]
}

async function live(scenario: Scenario): Promise<Life> {
  const request = newRequest(scenario)
  const outside = newOutside()
  const versions: StoredPayment[] = []
  const first = startCrashingProcess(withVersions(fixture.store, versions), outside, scenario)
  first.runner.start()
  await createPayment(first.deps, request)
  await untilEnded(fixture.store, request)
  await first.runner.stop()
  return { request, outside, versions }
}

/**
 * Puts an earlier version of a payment in its place, as a restore does: of an `ordered` backup with what the ledger has booked
 * for the payment until it was `booked`.
 */
async function restore(version: StoredPayment, booked?: StoredPayment): Promise<void> {
  const { payments } = fixture.store
  const present = await payments.get(keyOfPayment(version))
  if (present === undefined) throw new Error('the payment is gone')
  const asRestored = (document: StoredPayment) =>
    operations.restoreDocument?.('payments', document) as StoredPayment
  const { currency } = version
  const completed = (booked ? ledgerEntriesOf(booked) : []).reduce(
    (payment, entry) => asRestored(adoptClaim(payment, { kind: 'entry', currency, ...entry }, now())),
    asRestored(version),
  )
  await payments.replace(completed, present.version)
}

/** What is outside, in a form that two moments can be compared by. */
function whatIsOutside({ holds, resolutions, transfers, orders, events }: Outside) {
  const keys = [...orders].flatMap(([account_id, all]) => [...all].map((key) => `${account_id} ${key}`))
  const names = [...events].map(([key, all]) => [key, ...all].join(' '))
  return { holds: [...holds], resolutions: [...resolutions], transfers: [...transfers], keys, names }
}

const scenario = fc.record({
  direction: fc.constantFrom(...DIRECTIONS.names),
  first: fc.constantFrom('success', 'declined', 'silent', 'down'),
  second: fc.constantFrom('success', 'declined', 'silent'),
  restores: fc.array(
    fc.record({
      version: fc.nat(),
      // A payment has few versions before its first result.
      is_early: fc.boolean(),
      is_ordered: fc.boolean(),
      // A deposit expires after 30 minutes.
      waits_ms: fc.constantFrom(10 * MINUTE_MS, 60 * MINUTE_MS),
    }),
    { minLength: 1, maxLength: 3 },
  ),
})

// P18, P19
test('a payment that is restored, also repeatedly, as it was after any write ends as before, and nothing happens twice', async () => {
  await fc.assert(
    fc.asyncProperty(scenario, async ({ direction, first, second, restores }) => {
      const accounts = {
        first: { at_first: first, later: first },
        second: { at_first: second, later: second },
      }
      const { request, outside, versions } = await live({ direction, refused_code: 0, accounts })
      const before = whatIsOutside(outside)
      const end = versions.at(-1)
      const ended = end?.status
      const later = { first: ACCEPTING, second: ACCEPTING }
      const is_declined = [first, second].includes('declined') && ended !== 'success'
      const now_on = is_declined
        ? { ...later, none: { at_first: 'down', later: 'declined' } as const }
        : later
      for (const { version, is_early, is_ordered, waits_ms } of restores) {
        // A later restore can be of a backup from before or after the one before.
        const restored = versions[version % (is_early ? 3 : versions.length)]
        if (restored === undefined) throw new Error('the payment has no version')
        // A failure that the ledger has booked is looked up a day later, which is another test.
        await restore(restored, is_ordered && ended === 'success' ? end : undefined)
        clock.stepWall(waits_ms)
        const scenario_now = { direction, refused_code: 0, accounts: now_on } as const
        const next = startCrashingProcess(withVersions(fixture.store, versions), outside, scenario_now)
        next.runner.start()
        const left = await untilEnded(fixture.store, request)
        await next.runner.stop()
        expect(left).toMatchObject({ status: ended, attempt: { account_id: end?.attempt.account_id } })
        expect(left?.anomalies).toBeUndefined()
        await expect(createPayment(next.deps, request)).rejects.toMatchObject({ code: 6009 })
        expect(whatIsOutside(outside)).toEqual(before)
      }
    }),
    { numRuns: propertyRuns(100) },
  )
})

/** A withdrawal that its first account did not take and its second one paid, and the version before that. */
async function paidAtSecond() {
  const down = { at_first: 'down', later: 'down' } as const
  const life = await live({ refused_code: 0, accounts: { first: down, second: ACCEPTING } })
  const in_backup = life.versions.find(({ status }) => status === 'created')
  if (in_backup === undefined) throw new Error('the withdrawal was never open')
  expect(in_backup.attempt.account_id).toBe('first')
  return { ...life, in_backup }
}

test('an open withdrawal that was paid at its second account after the backup is found there, and is sent nowhere', async () => {
  const { request, outside, in_backup } = await paidAtSecond()
  const before = whatIsOutside(outside)
  await restore(in_backup)
  clock.stepWall(10 * MINUTE_MS)
  const accounts = { first: ACCEPTING, second: ACCEPTING }
  const next = startCrashingProcess(fixture.store, outside, { refused_code: 0, accounts })
  next.runner.start()
  const left = await untilEnded(fixture.store, request)
  await next.runner.stop()
  expect(left).toMatchObject({
    status: 'success',
    restored: 'accounts_answered',
    attempt: { account_id: 'second' },
  })
  expect(whatIsOutside(outside)).toEqual(before)
})

// P19
test('a withdrawal that the ledger refused after the backup is not sent after the restore, although it would be admitted now', async () => {
  const accounts = { first: ACCEPTING }
  const request = newRequest({ refused_code: 0, accounts })
  const outside = newOutside()
  const versions: StoredPayment[] = []
  const store = withVersions(fixture.store, versions)
  const first = startCrashingProcess(store, outside, { refused_code: 6004, accounts })
  await expect(createPayment(first.deps, request)).rejects.toMatchObject({ code: 6004 })
  const [in_backup] = versions
  if (in_backup?.status !== 'reserving') throw new Error('the withdrawal was not reserving')
  await restore(in_backup)
  clock.stepWall(10 * MINUTE_MS)
  const next = startCrashingProcess(fixture.store, outside, { refused_code: 0, accounts })
  next.runner.start()
  const { merchant_id, environment, c_id } = request
  const waiting = await eventually(
    () => {
      clock.stepWall(10_000)
      return fixture.store.payments.get({ merchant_id, environment, c_id })
    },
    (current) => (current?.anomalies ?? []).length > 0,
  )
  await next.runner.stop()
  expect(waiting).toMatchObject({ status: 'processing', restored: 'accounts_answered' })
  expect([...outside.orders]).toEqual([])
})

// P19: a second payment under the c_id would have keys of its own, which no provider could recognize.
test('a withdrawal that was paid after the backup, and whose hold the ledger refuses after the restore, keeps its c_id', async () => {
  const accounts = { first: ACCEPTING }
  const { request, outside, versions } = await live({ refused_code: 0, accounts })
  const [in_backup] = versions
  if (in_backup?.status !== 'reserving') throw new Error('the withdrawal was not reserving')
  await restore(in_backup)
  const next = startCrashingProcess(fixture.store, outside, { refused_code: 6004, accounts })
  next.runner.start()
  const { merchant_id, payment_id } = in_backup
  const kept = await untilEnded(fixture.store, request)
  await next.runner.stop()
  expect(kept).toMatchObject({ payment_id, status: 'refused' })
  expect(kept).toMatchObject({ details: undefined, beneficiary: undefined, erased_at: expect.any(Date) })
  const found = await fixture.store.anomalies.find('by_payment', { equals: [payment_id] }, { limit: 2 })
  expect(found).toMatchObject([{ merchant_id, kind: 'ledger_refused', open_since: expect.any(Date) }])
  const refusal = await fixture.store.withdrawal_refusals.get({ merchant_id, payment_id })
  expect(refusal).toMatchObject({ error_code: 6004 })
  clock.stepWall(24 * 60 * MINUTE_MS)
  const before = whatIsOutside(outside)
  const admitting = startCrashingProcess(fixture.store, outside, { refused_code: 0, accounts })
  admitting.runner.start()
  for (const payload_hash of [undefined, 'another request'])
    await expect(createPayment(admitting.deps, { ...request, payload_hash })).rejects.toMatchObject({
      code: 6009,
    })
  await admitting.runner.stop()
  expect(whatIsOutside(outside)).toEqual(before)
})

// P18, P19
test('a refund that an ordered restore adds from the ledger is sent only when its account has answered', async () => {
  await using opened = await openTestStore()
  const { payments } = await openPaymentsStore(opened.store, testKeys())
  const paid = newDeposit({ status: 'success', effects: [] })
  await payments.insert(operations.restoreDocument?.('payments', paid) as StoredPayment)
  const variables = { MULTIHUB_MASTER_KEYS: testMasterKey('test') }
  const check = await operations.checkData?.(opened.store, async function* () {}, variables, testKeys())
  const { merchant_id, environment, payment_id, currency } = paid
  const hold = { kind: 'entry', posting: 'hold', entry_id: 'r-1:hold:1', amount: 400n, currency } as const
  const required = { role: 'payments', merchant_id, environment, id: payment_id, subject: '' } as const
  expect(await check?.adopt?.({ ...required, claim: hold, at: now() })).toBe(true)
  const adopted = await payments.get(keyOfPayment(paid))
  expect(adopted).toMatchObject({ refunds: [{ state: 'approved', restored: 'asking_accounts' }] })
  const kinds = adopted?.effects.map(({ kind }) => kind)
  expect(kinds).toEqual(expect.arrayContaining([findRestoredEffect.kind, createAtProviderEffect.kind]))
})

// The last test: its withdrawal stays open.
test('an open withdrawal is sent nowhere while its second account is another one than before the backup', async () => {
  const { request, outside, in_backup } = await paidAtSecond()
  const before = whatIsOutside(outside)
  await restore(in_backup)
  clock.stepWall(10 * MINUTE_MS)
  const accounts = { first: ACCEPTING, second: ACCEPTING }
  const next = startCrashingProcess(fixture.store, outside, { refused_code: 0, accounts, moved: 'second' })
  next.runner.start()
  const { merchant_id, environment, c_id } = request
  const silent = await eventually(
    () => fixture.store.payments.get({ merchant_id, environment, c_id }),
    (current) => (current?.anomalies ?? []).length > 0,
  )
  await next.runner.stop()
  expect(silent).toMatchObject({ restored: 'asking_accounts', attempt: { number: 1 } })
  expect(whatIsOutside(outside)).toEqual(before)
  const moved = await fixture.store.anomalies.get(keyOfMovedAnomaly('second', 0))
  expect(moved).toMatchObject({ kind: 'account_moved' })
})
