import { afterAll, beforeAll, expect, test } from '@jest/globals'
import fc from 'fast-check'
import { isFinal } from '#lib/contract/payment-status.ts'
import type { EffectDefinition } from '#lib/patterns/effects/define-effect.ts'
import { publishEventEffect } from '#lib/patterns/effects/publish-event.ts'
import { uuidv7 } from '#lib/platform/ids.ts'
import { now, useClock } from '#lib/platform/time.ts'
import { createAdjustableClock } from '../../test/support/adjustable-clock.ts'
import { trustedClock } from '../../test/support/clock-guard.ts'
import { openAttemptBooks, statusOf } from './attempt-books.fixture.ts'
import type { ProviderReport } from './connectors/connector.ts'
import type { Anomaly, ResolutionKind } from './domain/anomaly.ts'
import type { CallResult, LookupResult, ProviderStatus } from './domain/call-result.ts'
import { admitWithdrawal } from './domain/new-payment.ts'
import {
  asPaid,
  operationKindOf,
  type Payment,
  requireAdmitted,
  type StoredPayment,
} from './domain/payment.ts'
import { captureHoldEffect, creditLedgerEffect, releaseHoldEffect } from './domain/payment-effects.ts'
import { canTransition, EVENT_OF } from './domain/transition-table.ts'
import { bindCreateAtProvider } from './effects/create-at-provider.ts'
import { bindExpirePayment } from './effects/expire-payment.ts'
import { bindLookUpLate } from './effects/look-up-late.ts'
import { bindPollProvider } from './effects/poll-provider.ts'
import { bindRecordAnomaly } from './effects/record-anomaly.ts'
import { bindRepeatCreate } from './effects/repeat-create.ts'
import { bindReportOpen } from './effects/report-open.ts'
import { scriptedConnector } from './effects/scripted-connector.fixture.ts'
import { newDeposit, newReservation } from './payment.fixture.ts'
import { openPayments, type PaymentsFixture } from './payments-store.fixture.ts'
import { keyOfPayment } from './store/payments.ts'
import {
  createProviderCallbackReceiver,
  providerCallbackPath,
} from './use-cases/receive-provider-callback.ts'
import { resolveAnomaly } from './use-cases/resolve-anomaly.ts'

const ACCOUNTS = ['first', 'second', 'third']
const AMOUNT = 150_000n
const MINUTE_MS = 60_000

let fixture: PaymentsFixture
let restoreClock: () => void
const clock = createAdjustableClock()
beforeAll(async () => {
  clock.stopWall()
  restoreClock = useClock(clock)
  fixture = await openPayments()
})
afterAll(async () => {
  await fixture[Symbol.asyncDispose]()
  restoreClock()
})

const amount = fc.constantFrom(AMOUNT, AMOUNT, AMOUNT, AMOUNT, AMOUNT, 1n)
const statusKind = fc.constantFrom<ProviderStatus['kind']>('success', 'pending', 'declined', 'canceled')
const report = fc.record({ attempt: fc.integer({ min: 1, max: 3 }), kind: statusKind, amount })
const create = fc.record({
  kind: fc.constantFrom<CallResult['kind']>(
    'not_sent',
    'not_sent',
    'unknown',
    'pending',
    'success',
    'declined',
  ),
  amount,
  /** The callbacks that arrive while the request is on its way. */
  meanwhile: fc.array(report, { maxLength: 2 }),
})
const lookup = fc.record({
  kind: fc.constantFrom<LookupResult['kind']>(
    'not_found',
    'unknown',
    'pending',
    'success',
    'declined',
    'canceled',
  ),
  amount,
})
const wait = fc.constantFrom(1_000, 6_000, 70_000, 400_000, 60 * MINUTE_MS, 25 * 60 * MINUTE_MS)
const decision = fc.record({
  which: fc.nat(3),
  kind: fc.constantFrom<ResolutionKind>('paid', 'not_paid', 'dismissed'),
})
const step = fc.oneof(
  { weight: 5, arbitrary: fc.record({ type: fc.constant('report' as const), report }) },
  { weight: 5, arbitrary: fc.record({ type: fc.constant('wait' as const), wait_ms: wait }) },
  { weight: 1, arbitrary: fc.record({ type: fc.constant('decision' as const), decision }) },
)
const script = fc.record({
  direction: fc.constantFrom('in' as const, 'out' as const),
  sends_callbacks: fc.boolean(),
  window_ms: fc.constantFrom(0, 120 * MINUTE_MS, Number.POSITIVE_INFINITY),
  creates: fc.array(create, { maxLength: 6 }),
  lookups: fc.array(lookup, { maxLength: 8 }),
  steps: fc.array(step, { maxLength: 14 }),
})
type Script = typeof script extends fc.Arbitrary<infer S> ? S : never
type Report = typeof report extends fc.Arbitrary<infer R> ? R : never
type Decision = typeof decision extends fc.Arbitrary<infer D> ? D : never

function newPayment(direction: Script['direction']): Payment {
  const payment_id = uuidv7()
  const at = now()
  const changes = {
    payment_id,
    c_id: payment_id,
    h_id: payment_id,
    ids: [payment_id],
    created_at: at,
    provider_accounts: ACCOUNTS,
    attempt: { number: 1, account_id: 'first', created_at: at },
  }
  // The hold is placed before any account is asked.
  if (direction === 'out') return admitWithdrawal({ ...newReservation(changes), effects: [] }, at)
  const expires_at = new Date(at.getTime() + 30 * MINUTE_MS)
  return newDeposit({ ...changes, expires_at, updated_at: at })
}

/** The result of a scripted call: as the connectors do it, a refusal after an earlier request with an unknown result is unknown. */
function resultOf(kind: CallResult['kind'], minor: bigint, is_repeated: boolean): CallResult {
  if (kind === 'unknown' || (is_repeated && kind !== 'success' && kind !== 'pending'))
    return { kind: 'unknown', reason: 'no response' }
  return kind === 'not_sent' ? { kind, reason: 'refused' } : statusOf(kind, minor, now())
}

/** One payment in its service, with accounts that follow a script and books of what they said. */
async function begin({ direction, sends_callbacks, window_ms, creates, lookups }: Script) {
  const { payments, anomalies } = fixture.store
  const payment = newPayment(direction)
  const key = keyOfPayment(payment)
  const kind = operationKindOf(payment)
  const books = openAttemptBooks()
  const entries: string[] = []
  const faults: string[] = []
  const next_creates = [...creates]
  const next_lookups = [...lookups]
  const keyOfAttempt = (attempt: number): string => `${payment.payment_id}:${attempt}`
  let answered_at_ms: number | undefined
  let answer: LookupResult = { kind: 'not_found' }
  const attemptOf = (idempotency_key: string): number =>
    Number(idempotency_key.slice(keyOfAttempt(0).length - 1))

  const connector = scriptedConnector(
    async (_account_id, { idempotency_key, earlier_result_unknown = false }) => {
      const attempt = attemptOf(idempotency_key)
      const others = books.send(attempt)
      if (others.length > 0) faults.push(`attempt ${attempt} was sent while ${others} may be paid`)
      const scripted = next_creates.shift()
      for (const one of scripted?.meanwhile ?? []) await receive(one)
      const { kind: ends = 'unknown', amount: minor = AMOUNT } = scripted ?? {}
      const result = resultOf(ends, minor, earlier_result_unknown)
      const is_overtaken = result.kind === 'not_sent' && (await read()).status !== 'created'
      if (!is_overtaken) books.hear(attempt, result, AMOUNT)
      return result
    },
    {
      sends_callbacks,
      idempotency_window_ms: window_ms,
      async lookUp({ idempotency_key }) {
        const asked_at_ms = now().getTime()
        // An account says the same to all questions of one moment.
        if (asked_at_ms === answered_at_ms) return answer
        answered_at_ms = asked_at_ms
        answer = lookUp(attemptOf(idempotency_key))
        return answer
      },
      parseCallback: ({ body }): ProviderReport => JSON.parse(Buffer.from(body).toString(), revive),
    },
  )
  const deps = connector.deps()
  const post = (effect: EffectDefinition<Payment, unknown>) =>
    effect.bind<StoredPayment>({
      lease_ms: MINUTE_MS,
      tries_max: 3,
      async run({ id }) {
        // The ledger gives each id one result, so a repetition moves nothing.
        if (!entries.includes(id)) entries.push(id)
        return (current) => current
      },
    })
  let last = payment
  const collection: typeof payments = {
    ...payments,
    async replace(document, version) {
      const stored = await payments.replace(document, version)
      if (stored) {
        const changed = requireAdmitted(document)
        faults.push(...judgeWrite(last, changed, books.mayBePaid()))
        last = changed
      }
      return stored
    },
  }
  const runner = fixture.runner(
    [
      ...[
        bindCreateAtProvider(deps),
        bindPollProvider(deps),
        bindRepeatCreate(deps),
        bindExpirePayment(deps),
      ],
      ...[bindLookUpLate(deps), bindReportOpen(), bindRecordAnomaly(anomalies)],
      ...[post(creditLedgerEffect), post(captureHoldEffect), post(releaseHoldEffect)],
    ],
    { collection },
  )
  const receiveCallback = createProviderCallbackReceiver({
    payments,
    anomalies,
    runner,
    findAccount: (account_id) => deps.accountOf({ ...payment, attempt: { ...payment.attempt, account_id } }),
    refreshStale: async (stored) => stored,
    clock_guard: trustedClock,
  })

  function lookUp(attempt: number): LookupResult {
    const { kind: found = 'not_found', amount: minor = AMOUNT } = next_lookups.shift() ?? {}
    if (found === 'not_found') return { kind: 'not_found' }
    if (found === 'unknown') return { kind: found, reason: 'no response' }
    const result = statusOf(found, minor, now())
    books.hear(attempt, result, AMOUNT)
    return result
  }
  async function read(): Promise<Payment> {
    const stored = await payments.get(key)
    if (!stored) throw new Error('the payment is gone')
    return requireAdmitted(stored)
  }
  /** Sends the callback of an account about an attempt of which it got a request. */
  async function receive({ attempt, kind: reported, amount: minor }: Report): Promise<void> {
    if (!connector.creates.some(({ idempotency_key }) => idempotency_key === keyOfAttempt(attempt))) return
    const account_id = ACCOUNTS[attempt - 1] ?? ''
    const result = statusOf(reported, minor, now())
    books.hear(attempt, result, AMOUNT)
    const content = { kind, idempotency_key: keyOfAttempt(attempt), result }
    const body = Buffer.from(JSON.stringify(content, keepBigints))
    const path = providerCallbackPath(account_id, payment)
    const status = await receiveCallback({ method: 'POST', path, headers: {}, body })
    if (status !== 200) faults.push(`the report of attempt ${attempt} got ${status}`)
  }
  /** Leases and runs what is due. */
  async function runDue(): Promise<void> {
    const leased = await runner.update(key, (current) => ({ ...current }))
    if (leased) await runner.runEffects(leased)
  }
  async function listAnomalies(): Promise<readonly Anomaly[]> {
    const { merchant_id, anomalies: recorded = [] } = await read()
    const ids = recorded.map((effect_id) => effect_id.split(':').at(-1) ?? '')
    const found = await Promise.all(ids.map((anomaly_id) => anomalies.get({ merchant_id, anomaly_id })))
    return found.filter((anomaly) => anomaly !== undefined)
  }
  async function decide({ which, kind: resolution }: Decision): Promise<void> {
    const anomaly = (await listAnomalies())[which]
    const before = await read()
    if (anomaly === undefined || isFinal(before.status)) return
    const { anomaly_id } = anomaly
    const request = { anomaly_id, kind: resolution, operation_id: 'op', note: '' }
    await resolveAnomaly(
      { anomalies, payments, runner, sendsCallbacks: () => sends_callbacks },
      request,
    ).catch((error: unknown) => {
      if (anomaly.resolution === undefined) throw error
    })
    const after = await read()
    if (after.status === 'success' && asPaid(after).attempt.number !== anomaly.attempt_number)
      faults.push(
        `attempt ${asPaid(after).attempt.number} counts as paid instead of ${anomaly.attempt_number}`,
      )
  }
  await runner.runEffects(await runner.insert(payment))
  return { books, entries, faults, read, receive, runDue, decide, listAnomalies }
}

function keepBigints(_name: string, value: unknown): unknown {
  return typeof value === 'bigint' ? `${value}n` : value
}

function revive(name: string, value: unknown): unknown {
  if (name === 'completed_at' && typeof value === 'string') return new Date(value)
  return name === 'minor' && typeof value === 'string' ? BigInt(value.slice(0, -1)) : value
}

/** What must hold of every payment, whatever its accounts say. */
function judgeWrite(before: Payment, after: Payment, may_be_paid: readonly number[]): string[] {
  const faults: string[] = []
  if (isFinal(before.status) && after.status !== before.status) faults.push('a final status has changed')
  for (const [index, { status }] of after.history.slice(1).entries()) {
    const from = after.history[index]?.status ?? 'created'
    if (!canTransition({ ...after, status: from }, status)) faults.push(`moved from ${from} to ${status}`)
  }
  const has_failed = after.status === 'error' || after.status === 'canceled'
  const is_new = has_failed && !isFinal(before.status) && after.operator_decision === undefined
  if (is_new && may_be_paid.length > 0) faults.push(`failed while ${may_be_paid} may be paid`)
  return faults
}

/** The ledger entries and events that follow from the payment's history. */
function judgeBooks(payment: Payment, entries: readonly string[]): string[] {
  const { payment_id, direction, status, transition_number: number, history, effects } = payment
  const out = status === 'success' ? 'capture' : 'release'
  const name = direction === 'out' ? out : status === 'success' ? 'credit' : undefined
  const expected = isFinal(status) && name !== undefined ? [`${payment_id}:${number}:${name}`] : []
  const faults = `${entries}` === `${expected}` ? [] : [`the ledger has ${entries} instead of ${expected}`]
  const events = effects.filter(publishEventEffect.matches).length
  const announced = direction === 'in' ? history.slice(1) : history
  const transitions = announced.filter((entry) => EVENT_OF[entry.status]).length
  return events === transitions ? faults : [...faults, `${events} events for ${transitions} transitions`]
}

async function play(one: Script): Promise<string[]> {
  const world = await begin(one)
  for (const step of one.steps) {
    if (step.type === 'report') await world.receive(step.report)
    else if (step.type === 'decision') await world.decide(step.decision)
    else {
      clock.stepWall(step.wait_ms)
      await world.runDue()
    }
  }
  // What waits for the ledger and for the anomalies is done.
  for (let rounds = 0; rounds < 3; rounds += 1) await world.runDue()
  const payment = await world.read()
  const anomalies = await world.listAnomalies()
  const unnamed = world.books
    .unexplained(payment)
    .filter((attempt) => !anomalies.some(({ attempt_number }) => attempt_number === attempt))
  if (unnamed.length > 0) world.faults.push(`no anomaly names the paid attempt ${unnamed}`)
  return [...world.faults, ...judgeBooks(payment, world.entries)]
}

// P4, P6, P7, P8, P9
test('no accounts, in whatever order they speak, make a payment that is paid twice or lost', async () => {
  await fc.assert(
    fc.asyncProperty(script, async (one) => {
      expect(await play(one)).toEqual([])
    }),
    { numRuns: 150 },
  )
})
