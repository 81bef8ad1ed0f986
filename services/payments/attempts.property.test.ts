import { afterAll, beforeAll, expect, test } from '@jest/globals'
import fc from 'fast-check'
import { uuidv7 } from '#lib/base/ids.ts'
import { now, useClock } from '#lib/base/time.ts'
import { isFinal } from '#lib/contract/payment-status.ts'
import type { EffectDefinition } from '#lib/patterns/effects/define-effect.ts'
import { createEffectRunner } from '#lib/patterns/effects/runner.ts'
import { createAdjustableClock } from '../../test/support/adjustable-clock.ts'
import { trustedClock } from '../../test/support/clock-guard.ts'
import { propertyRuns } from '../../test/support/property-runs.ts'
import { lastingRun } from '../../test/support/runs.ts'
import { judgeBooks, judgeWrite, openAttemptBooks, statusOf } from './attempt-books.fixture.ts'
import type { ProviderReport } from './connectors/connector.ts'
import type { Anomaly, OperatorResolution } from './domain/anomaly.ts'
import type { CallResult, LookupResult, ProviderStatus } from './domain/call-result.ts'
import { admitWithdrawal } from './domain/hold-decision.ts'
import {
  asPaid,
  operationKindOf,
  type Payment,
  requireAdmitted,
  type StoredPayment,
} from './domain/payment.ts'
import { postEntryEffect } from './domain/payment-effects.ts'
import { bindExpirePayment, bindLookUpLate, bindPollProvider } from './effects/ask-provider.ts'
import { bindCreateAtProvider, bindRepeatCreate } from './effects/create-at-provider.ts'
import { bindRecordAnomaly, bindReportOpen } from './effects/report-to-operator.ts'
import { scriptedConnector } from './effects/scripted-connector.fixture.ts'
import { newDeposit, newReservation } from './payment.fixture.ts'
import { openPayments, type PaymentsFixture } from './payments-store.fixture.ts'
import { type CrashPoint, createLife, withSteps } from './process-life.fixture.ts'
import {
  createProviderCallbackReceiver,
  providerCallbackPath,
} from './provider-callbacks/receive-provider-callback.ts'
import { keyOfPayment } from './store/payments.ts'
import { resolveAnomaly } from './use-cases/resolve-anomaly.ts'

const ACCOUNTS = ['first', 'second', 'third']
const AMOUNT = 150_000n
const MINUTE_MS = 60_000
/** Longer than every lease. */
const LEASES_MS = 10 * MINUTE_MS
/** What is due at the end is done in this many rounds, also when the process crashes once more. */
const LAST_ROUNDS = 5

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
  /** When it uses up the time of the create, but not its lease, the create of the next attempt waits. */
  takes_ms: fc.constantFrom(0, 0, 0, 28_000),
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
  kind: fc.constantFrom<OperatorResolution>('paid', 'not_paid', 'dismissed'),
})
const crash = fc.record({
  at: fc.integer({ min: 1, max: 6 }),
  when: fc.constantFrom<CrashPoint['when']>('before', 'after'),
})
const step = fc.oneof(
  { weight: 5, arbitrary: fc.record({ type: fc.constant('report' as const), report }) },
  { weight: 5, arbitrary: fc.record({ type: fc.constant('wait' as const), wait_ms: wait }) },
  { weight: 1, arbitrary: fc.record({ type: fc.constant('decision' as const), decision }) },
  { weight: 2, arbitrary: fc.record({ type: fc.constant('crash' as const), crash }) },
)
const script = fc.record({
  direction: fc.constantFrom('in' as const, 'out' as const),
  sends_callbacks: fc.boolean(),
  window_ms: fc.constantFrom(0, 120 * MINUTE_MS, Number.POSITIVE_INFINITY),
  /** Of the process that accepts the payment, counted after its first write. */
  first_crash: fc.option(crash, { nil: undefined }),
  creates: fc.array(create, { maxLength: 6 }),
  lookups: fc.array(lookup, { maxLength: 8 }),
  steps: fc.array(step, { maxLength: 14, size: 'max' }),
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

/** The result of a scripted call. As in the connectors, a refusal after an unknown result is unknown. */
function resultOf(kind: CallResult['kind'], minor: bigint, is_repeated: boolean): CallResult {
  if (kind === 'unknown' || (is_repeated && kind !== 'success' && kind !== 'pending'))
    return { kind: 'unknown', reason: 'no response' }
  return kind === 'not_sent' ? { kind, reason: 'refused' } : statusOf(kind, minor, now())
}

/** One payment in its service, with accounts that follow a script and books of what they said. */
async function begin({ direction, sends_callbacks, window_ms, first_crash, creates, lookups }: Script) {
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
      const { life } = current
      const attempt = attemptOf(idempotency_key)
      const sent = connector.creates.filter((create) => create.idempotency_key === idempotency_key)
      if (sent.length > 1 && !earlier_result_unknown) faults.push(`attempt ${attempt} is repeated as if new`)
      const others = books.send(attempt)
      if (others.length > 0) faults.push(`attempt ${attempt} was sent while ${others} may be paid`)
      const scripted = next_creates.shift()
      for (const one of scripted?.meanwhile ?? []) await receive(one)
      const { kind: ends = 'unknown', amount: minor = AMOUNT, takes_ms = 0 } = scripted ?? {}
      clock.stepWall(takes_ms)
      const result = resultOf(ends, minor, earlier_result_unknown)
      const is_overtaken = result.kind === 'not_sent' && (await read()).status !== 'created'
      await life.read(() => undefined)
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
  const judged: typeof payments = {
    ...payments,
    async replace(document, version) {
      const stored = await payments.replace(document, version)
      if (stored) {
        const changed = requireAdmitted(document)
        faults.push(...judgeWrite(last, changed, books.store()))
        last = changed
      }
      return stored
    },
  }
  function startProcess() {
    const life = createLife()
    const stores = { payments: withSteps(judged, life), anomalies: withSteps(anomalies, life) }
    const created = createEffectRunner<StoredPayment>({
      name: 'payments',
      collection: stores.payments,
      clock_guard: trustedClock,
      runs: lastingRun,
      keyOf: keyOfPayment,
      effects: [
        bindCreateAtProvider(deps),
        bindPollProvider(deps),
        bindRepeatCreate(deps),
        bindExpirePayment(deps),
        bindLookUpLate(deps),
        bindReportOpen(),
        bindRecordAnomaly(stores.anomalies),
        post(postEntryEffect),
      ],
    })
    const background: Promise<unknown>[] = []
    const runner: typeof created = {
      ...created,
      runEffectsInBackground: (leased) => void background.push(created.runEffects(leased)),
    }
    const receiveCallback = createProviderCallbackReceiver({
      ...stores,
      runner,
      findAccount: (account_id) =>
        deps.accountOf({ ...payment, attempt: { ...payment.attempt, account_id } }),
      refreshStale: async (stored) => stored,
      clock_guard: trustedClock,
    })
    /** What an account says in the next step comes after the effects in the background, as the books have it. */
    async function settle(): Promise<void> {
      while (background.length > 0) await background.shift()
    }
    return { life, stores, runner, receiveCallback, settle }
  }
  let current = startProcess()
  /** Lets the process act. When it crashes, the books begin again, and the next one starts after its leases. */
  async function survive(act: () => Promise<unknown>): Promise<void> {
    if ((await Promise.race([act().then(current.settle), current.life.crashed])) !== 'crashed') return
    books.forget()
    clock.stepWall(LEASES_MS)
    current = startProcess()
  }

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
    const status = await current.receiveCallback({ method: 'POST', path, headers: {}, body })
    if (status !== 200) faults.push(`the report of attempt ${attempt} got ${status}`)
  }
  /** Leases and runs what is due. */
  async function runDue(): Promise<void> {
    const { runner } = current
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
    const amount = resolution === 'paid' ? { minor: before.amount, currency: before.currency } : undefined
    const request = { anomaly_id, kind: resolution, amount, operation_id: 'op', note: '' }
    await resolveAnomaly(
      { ...current.stores, runner: current.runner, sendsCallbacks: () => sends_callbacks },
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
  const { runner } = current
  const inserted = await runner.insert(payment)
  if (first_crash) current.life.crashAt(first_crash)
  await survive(() => runner.runEffects(inserted))
  return {
    books,
    entries,
    faults,
    read,
    listAnomalies,
    receive: (one: Report) => survive(() => receive(one)),
    runDue: () => survive(runDue),
    decide: (one: Decision) => survive(() => decide(one)),
    crashAt: (point: CrashPoint) => current.life.crashAt(point),
  }
}

function keepBigints(_name: string, value: unknown): unknown {
  return typeof value === 'bigint' ? `${value}n` : value
}

function revive(name: string, value: unknown): unknown {
  if (name === 'completed_at' && typeof value === 'string') return new Date(value)
  return name === 'minor' && typeof value === 'string' ? BigInt(value.slice(0, -1)) : value
}

async function play(one: Script): Promise<string[]> {
  const world = await begin(one)
  for (const step of one.steps) {
    if (step.type === 'report') await world.receive(step.report)
    else if (step.type === 'decision') await world.decide(step.decision)
    else if (step.type === 'crash') world.crashAt(step.crash)
    else {
      clock.stepWall(step.wait_ms)
      await world.runDue()
    }
  }
  // What waits for the ledger and for the anomalies is done.
  for (let rounds = 0; rounds < LAST_ROUNDS; rounds += 1) await world.runDue()
  const payment = await world.read()
  const anomalies = await world.listAnomalies()
  const unnamed = world.books
    .unexplained(payment)
    .filter((attempt) => !anomalies.some(({ attempt_number }) => attempt_number === attempt))
  if (unnamed.length > 0) world.faults.push(`no anomaly names the paid attempt ${unnamed}`)
  return [...world.faults, ...judgeBooks(payment, world.entries)]
}

// P4, P6, P7, P8, P9
test('no accounts, in whatever order they speak, and no crashes make a payment that is paid twice or lost', async () => {
  await fc.assert(
    fc.asyncProperty(script, async (one) => {
      expect(await play(one)).toEqual([])
    }),
    { numRuns: propertyRuns(150) },
  )
})
