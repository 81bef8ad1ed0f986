import { afterEach, beforeEach, describe, expect, test } from '@jest/globals'
import { now, useClock } from '#lib/base/time.ts'
import type { EffectRunner } from '#lib/patterns/effects/runner.ts'
import type { Stored } from '#lib/store/store.ts'
import { type AdjustableClock, createAdjustableClock } from '../../../test/support/adjustable-clock.ts'
import { eventually } from '../../../test/support/eventually.ts'
import { recordAnomalyEffect } from '../domain/anomaly.ts'
import { applyProviderUpdate } from '../domain/apply-provider-update.ts'
import type { CallResult } from '../domain/call-result.ts'
import { admitWithdrawal } from '../domain/hold-decision.ts'
import { type Payment, requireAdmitted, type StoredPayment } from '../domain/payment.ts'
import { createAtProviderEffect } from '../domain/payment-effects.ts'
import { newDeposit, newReservation } from '../payment.fixture.ts'
import { openPayments, type PaymentsFixture } from '../payments-store.fixture.ts'
import { keyOfPayment } from '../store/payments.ts'
import { bindPollProvider } from './ask-provider.ts'
import { bindCreateAtProvider, bindRepeatCreate } from './create-at-provider.ts'
import { scriptedConnector } from './scripted-connector.fixture.ts'

const NOT_SENT: CallResult = { kind: 'not_sent', reason: 'refused', is_provider_failure: true }
const MINUTE_MS = 60_000

let fixture: PaymentsFixture
let clock: AdjustableClock
let restoreClock: () => void
beforeEach(async () => {
  clock = createAdjustableClock()
  restoreClock = useClock(clock)
  fixture = await openPayments()
})
afterEach(async () => {
  await fixture[Symbol.asyncDispose]()
  restoreClock()
})

/** The operations that exist at the providers, by account and key: what would be paid. */
type Operations = Set<string>

/** A process that dies at a write: nothing that it does afterwards reaches the store. */
interface Process {
  readonly runner: EffectRunner<StoredPayment>
  /** The accounts and keys of the creates that it sent. */
  readonly creates: () => readonly string[]
}

/** When a process dies: before or after it stores the first document that fits. */
interface Crash {
  readonly when: (document: StoredPayment) => boolean
  readonly is_stored: boolean
}

/** A process. The accounts that are `down` cannot be reached by it. */
function startProcess(
  operations: Operations,
  { down, window_ms, crash }: { down: readonly string[]; window_ms: number; crash?: Crash },
): Process {
  let is_dead = false
  const { payments } = fixture.store
  const alive = (): void => {
    if (is_dead) throw new Error('the process is dead')
  }
  const collection: typeof payments = {
    ...payments,
    async replace(document, version) {
      alive()
      if (crash?.when(document)) {
        is_dead = true
        if (crash.is_stored) await payments.replace(document, version)
        throw new Error('the process dies')
      }
      return payments.replace(document, version)
    },
    async get(...question) {
      alive()
      return payments.get(...question)
    },
  }
  const idsAt = (account_id: string, key: string): string => `${account_id} ${key}`
  const connector = scriptedConnector(
    (account_id, { idempotency_key }) => {
      alive()
      if (down.includes(account_id)) return NOT_SENT
      operations.add(idsAt(account_id, idempotency_key))
      return { kind: 'pending', provider_id: 'p-1' }
    },
    { idempotency_window_ms: window_ms },
    (account_id) => ({
      async lookUp({ idempotency_key }) {
        if (!operations.has(idsAt(account_id, idempotency_key))) return { kind: 'not_found' }
        const amount = { minor: 150_000n, currency: 'INR' }
        return { kind: 'success', provider_id: 'p-1', amount, completed_at: now() }
      },
    }),
  )
  const deps = connector.deps()
  const effects = [bindCreateAtProvider(deps), bindPollProvider(deps), bindRepeatCreate(deps)]
  return {
    runner: fixture.runner(effects, { collection, sweep_ms: 20 }),
    creates: () =>
      connector.creates.map(({ account_id, idempotency_key }) => idsAt(account_id, idempotency_key)),
  }
}

function newPayment(direction: 'in' | 'out'): Payment {
  const created_at = now()
  const changes = {
    provider_accounts: ['first', 'second', 'third'],
    attempt: { number: 1, account_id: 'first', created_at },
    created_at,
  }
  return direction === 'in' ? newDeposit(changes) : admitWithdrawal(newReservation(changes), created_at)
}

async function read(payment: Payment): Promise<Stored<Payment> | undefined> {
  const stored = await fixture.store.payments.get(keyOfPayment(payment))
  return stored && requireAdmitted(stored)
}

/** Runs the payment in a process until it dies. */
async function runUntilDeath({ runner }: Process, payment: Payment): Promise<void> {
  const inserted = await runner.insert(payment)
  await runner.runEffects(inserted).catch(() => undefined)
}

/** Lets another process take over. Leases expire and polls become due until the payment is as expected. */
async function takeOver(
  { runner }: Process,
  payment: Payment,
  isExpected: (payment: Payment) => boolean,
): Promise<Payment> {
  runner.start()
  const stored = await eventually(
    async () => {
      clock.stepWall(2 * MINUTE_MS)
      return read(payment)
    },
    (found) => found !== undefined && isExpected(found),
  )
  if (!stored) throw new Error('the payment does not exist')
  return stored
}

const isSecondAttempt = ({ attempt }: StoredPayment): boolean => attempt.number === 2
const isSecondSent = (document: StoredPayment): boolean =>
  isSecondAttempt(document) && document.status === 'processing'
const hasAnomaly = ({ effects }: Payment): boolean => effects.some(recordAnomalyEffect.matches)
const isPaid = ({ status }: Payment): boolean => status === 'success'
const ALWAYS = Number.POSITIVE_INFINITY

// P4
describe.each(['in', 'out'] as const)('a crash during a failover, direction %s', (direction) => {
  test('before the next attempt is stored keeps the payment at the first account', async () => {
    const operations: Operations = new Set()
    const payment = newPayment(direction)
    const crash = { when: isSecondAttempt, is_stored: false }
    const dying = startProcess(operations, { down: ['first'], window_ms: ALWAYS, crash })
    await runUntilDeath(dying, payment)
    expect(await read(payment)).toMatchObject({ status: 'created', attempt: { number: 1 } })

    // The account works again. The same key goes to it, because the first request may have arrived.
    const next = startProcess(operations, { down: [], window_ms: ALWAYS })
    const paid = await takeOver(next, payment, isPaid)
    expect(paid.attempt).toMatchObject({ number: 1, account_id: 'first' })
    expect([...operations]).toEqual([`first ${payment.payment_id}:1`])
    expect([...dying.creates(), ...next.creates()]).not.toContain(`second ${payment.payment_id}:2`)
  })

  test('before the next attempt is stored leaves the payment to the operator without idempotency keys', async () => {
    const operations: Operations = new Set()
    const payment = newPayment(direction)
    const crash = { when: isSecondAttempt, is_stored: false }
    await runUntilDeath(startProcess(operations, { down: ['first'], window_ms: 0, crash }), payment)
    const next = startProcess(operations, { down: [], window_ms: 0 })
    const open = await takeOver(next, payment, hasAnomaly)
    expect(open).toMatchObject({ status: 'processing', attempt: { number: 1, account_id: 'first' } })
    expect(next.creates()).toEqual([])
    expect(operations.size).toBe(0)
  })

  test.each([
    ['after the next attempt is stored', { when: isSecondAttempt, is_stored: true }],
    ['before the result of the next attempt is stored', { when: isSecondSent, is_stored: false }],
    ['after the result of the next attempt is stored', { when: isSecondSent, is_stored: true }],
  ])('%s keeps the payment at the second account, where it is paid once', async (_what, crash) => {
    const operations: Operations = new Set()
    const payment = newPayment(direction)
    const down = ['first']
    const dying = startProcess(operations, { down, window_ms: ALWAYS, crash })
    await runUntilDeath(dying, payment)
    expect(await read(payment)).toBeDefined()

    const next = startProcess(operations, { down, window_ms: ALWAYS })
    const paid = await takeOver(next, payment, isPaid)
    expect(paid.attempt).toMatchObject({ number: 2, account_id: 'second' })
    expect([...operations]).toEqual([`second ${payment.payment_id}:2`])
    expect(next.creates().filter((create) => !create.startsWith('second '))).toEqual([])
  })
})

// P4
test('a process that was overtaken does not move the payment to another account', async () => {
  const operations: Operations = new Set()
  const payment = newPayment('out')
  const { promise: answer, resolve } = Promise.withResolvers<CallResult>()
  const paused = scriptedConnector((account_id) => (account_id === 'first' ? answer : NOT_SENT))
  const runner = fixture.runner([bindCreateAtProvider(paused.deps())])
  const inserted = await runner.insert(payment)
  const running = runner.runEffects(inserted)
  await eventually(
    async () => paused.creates.length,
    (count) => count === 1,
  )

  const next = startProcess(operations, { down: ['first'], window_ms: 0 })
  await takeOver(next, payment, ({ status }) => status === 'processing')
  resolve(NOT_SENT)
  await running.catch(() => undefined)
  expect(await read(payment)).toMatchObject({ status: 'processing', attempt: { number: 1 } })
  expect(paused.creates.map(({ account_id }) => account_id)).toEqual(['first'])
  expect(operations.size).toBe(0)
})

// P4
test.each(['in', 'out'] as const)(
  'a create that a crash may have sent is not sent again once an earlier account has paid, direction %s',
  async (direction) => {
    const operations: Operations = new Set()
    const payment = newPayment(direction)
    const crash = { when: isSecondAttempt, is_stored: true }
    await runUntilDeath(startProcess(operations, { down: ['first'], window_ms: ALWAYS, crash }), payment)

    const next = startProcess(operations, { down: ['first'], window_ms: ALWAYS })
    const amount = { minor: 150_000n, currency: 'INR' }
    const result: CallResult = { kind: 'success', provider_id: 'p-1', amount, completed_at: now() }
    await next.runner.update(keyOfPayment(payment), (current) => {
      const update = { attempt_number: 1, result, at: now(), poll_at: now() }
      return applyProviderUpdate(requireAdmitted(current), update)
    })
    const isLeftToOperator = ({ anomalies = [] }: Payment): boolean => anomalies.length === 2
    const open = await takeOver(next, payment, isLeftToOperator)
    expect(open).toMatchObject({ status: 'processing', attempt: { number: 2 }, earlier_successes: [1] })
    expect(next.creates()).toEqual([])
    expect(operations.size).toBe(0)
  },
)

// P4
describe.each(['in', 'out'] as const)(
  'while the create of the next account waits, direction %s',
  (direction) => {
    const amount = { minor: 150_000n, currency: 'INR' }

    /** Lets the first account use up the time of the create, and then say that it sent nothing. */
    async function giveUpFirst() {
      const connector = scriptedConnector((account_id) => {
        if (account_id === 'first') clock.stepWall(MINUTE_MS)
        return account_id === 'first' ? NOT_SENT : { kind: 'pending', provider_id: 'p-2' }
      })
      const runner = fixture.runner([bindCreateAtProvider(connector.deps())], { sweep_ms: 20 })
      const payment = newPayment(direction)
      await runner.runEffects(await runner.insert(payment))
      expect(await read(payment)).toMatchObject({ status: 'created', attempt: { number: 2 } })
      const report = (attempt_number: number, result: CallResult) =>
        runner.update(keyOfPayment(payment), (current) => {
          const update = { attempt_number, result, at: now(), poll_at: now() }
          return applyProviderUpdate(requireAdmitted(current), update)
        })
      return { connector, runner, payment, report }
    }

    test('a report that the earlier request arrived keeps the payment there', async () => {
      const { connector, runner, payment, report } = await giveUpFirst()
      await report(1, { kind: 'pending', provider_id: 'p-1' })
      expect(await read(payment)).toMatchObject({
        status: 'processing',
        p_id: 'p-1',
        attempt: { number: 1, account_id: 'first', created_at: payment.created_at },
      })
      await report(1, { kind: 'success', provider_id: 'p-1', amount, completed_at: now() })
      expect(await read(payment)).toMatchObject({ status: 'success', attempt: { number: 1 } })
      runner.start()
      clock.stepWall(MINUTE_MS)
      const settled = await eventually(
        () => read(payment),
        (found) => found?.effects.every(({ kind }) => kind !== createAtProviderEffect.kind) === true,
      )
      expect(settled?.anomalies).toBeUndefined()
      expect(connector.creates.map(({ account_id }) => account_id)).toEqual(['first'])
    })

    test('a report that the earlier request has paid ends the payment there', async () => {
      const { connector, runner, payment, report } = await giveUpFirst()
      await report(1, { kind: 'success', provider_id: 'p-1', amount, completed_at: now() })
      const paid = await read(payment)
      expect(paid).toMatchObject({ status: 'success', attempt: { number: 1, account_id: 'first' } })
      expect(paid?.effects.some(({ kind }) => kind === createAtProviderEffect.kind)).toBe(false)
      expect(paid?.anomalies).toBeUndefined()
      runner.start()
      clock.stepWall(MINUTE_MS)
      await report(1, { kind: 'pending', provider_id: 'p-1' })
      expect(connector.creates.map(({ account_id }) => account_id)).toEqual(['first'])
    })

    test('a report that the earlier one was refused changes nothing', async () => {
      const { connector, runner, payment, report } = await giveUpFirst()
      await report(1, { kind: 'declined', code: 7001 })
      runner.start()
      clock.stepWall(MINUTE_MS)
      await eventually(
        () => read(payment),
        (found) => found?.status === 'processing',
      )
      expect(connector.creates.map(({ account_id }) => account_id)).toEqual(['first', 'second'])
      await report(1, { kind: 'success', provider_id: 'p-1', amount, completed_at: now() })
      // The other request is on its way, so the operator must look.
      expect(await read(payment)).toMatchObject({ status: 'processing', attempt: { number: 2 } })
      expect((await read(payment))?.anomalies).toHaveLength(1)
    })
  },
)

// P4
test.each([
  ['in', NOT_SENT],
  ['out', NOT_SENT],
  ['out', { kind: 'declined', code: 7001 }],
  ['in', { kind: 'canceled', code: 6012 }],
] satisfies readonly (readonly ['in' | 'out', CallResult])[])(
  'an account that has paid meanwhile is asked, and no further one, when the next one fails, direction %s, %o',
  async (direction, failure) => {
    const amount = { minor: 150_000n, currency: 'INR' }
    const success = { kind: 'success', provider_id: 'p-1', amount, completed_at: now() } as const
    const payment = newPayment(direction)
    const connector = scriptedConnector(
      async (account_id) => {
        if (account_id === 'first') return NOT_SENT
        const update = { attempt_number: 1, result: success, at: now(), poll_at: now() }
        await runner.update(keyOfPayment(payment), (current) =>
          applyProviderUpdate(requireAdmitted(current), update),
        )
        return failure
      },
      {},
      (account_id) => ({ lookUp: async () => (account_id === 'first' ? success : { kind: 'not_found' }) }),
    )
    const deps = connector.deps()
    const runner = fixture.runner([bindCreateAtProvider(deps), bindPollProvider(deps)], { sweep_ms: 20 })
    await runner.runEffects(await runner.insert(payment))
    expect(await read(payment)).toMatchObject({ status: 'processing', attempt: { account_id: 'first' } })
    runner.start()
    clock.stepWall(10 * MINUTE_MS)
    const paid = await eventually(
      () => read(payment),
      (found) => found?.status === 'success',
    )
    expect(paid).toMatchObject({ p_id: 'p-1', attempt: { number: 1 } })
    expect(paid?.anomalies).toHaveLength(1)
    expect(connector.creates.map(({ account_id }) => account_id)).toEqual(['first', 'second'])
  },
)
