import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { withRequest } from '#lib/base/context.ts'
import { testKeys } from '#lib/base/crypto/keys.fixture.ts'
import { uuidv7 } from '#lib/base/ids.ts'
import { clock, now, useClock } from '#lib/base/time.ts'
import { Unavailable } from '#lib/contract/errors/unavailable.ts'
import { INT64_MAX } from '#lib/contract/money.ts'
import { createAdjustableClock } from '../../../test/support/adjustable-clock.ts'
import { eventually } from '../../../test/support/eventually.ts'
import { installManualClock } from '../../../test/support/manual-clock.ts'
import { createAccountSelection } from '../connectors/account-selection.ts'
import { type CircuitBreaker, createCircuitBreaker } from '../connectors/circuit-breaker.ts'
import type { ConnectedAccount } from '../connectors/connect-account.ts'
import { refuseWithdrawal } from '../domain/hold-decision.ts'
import type { CreatePaymentRequest } from '../domain/new-payment.ts'
import type { PaymentRoute } from '../domain/payment.ts'
import { bindRefusal } from '../effects/discard-refused.ts'
import { bindHoldFunds } from '../effects/post-to-ledger.ts'
import { type ScriptedLedger, scriptedBalances, scriptedLedger } from '../effects/scripted-ledger.fixture.ts'
import { newDeposit, newReservation, WITHDRAWAL_ROUTE } from '../payment.fixture.ts'
import { openPayments, type PaymentsFixture } from '../payments-store.fixture.ts'
import { type CreatePaymentDeps, createPayment } from './create-payment.ts'
import { findPayment } from './find-payment.ts'

const POLICY = { service_ids: [], currencies: [] }

let fixture: PaymentsFixture
beforeAll(async () => {
  fixture = await openPayments()
})
afterAll(async () => {
  await fixture[Symbol.asyncDispose]()
})

/** What creating a withdrawal needs, over this ledger. Effects of other kinds are left as they are. */
function depsOver(ledger: ScriptedLedger, changes: Partial<PaymentRoute> = {}): CreatePaymentDeps {
  const findRoute = async (service_id: string): Promise<PaymentRoute | undefined> =>
    service_id === WITHDRAWAL_ROUTE.service_id ? { ...WITHDRAWAL_ROUTE, ...changes } : undefined
  const effects = [bindHoldFunds({ ledger: ledger.client, findRoute }), ...bindRefusal(fixture.store)]
  return {
    ...fixture.deps(effects),
    withdrawal_refusals: fixture.store.withdrawal_refusals,
    findRoute,
    hasAccount: () => true,
    fingerprintOf: (account_id) => `the ${account_id}`,
    chooseAccounts: (account_ids) => ({
      account_ids: account_ids.filter((account_id) => account_id !== 'down'),
      giveBack: () => {},
    }),
    search: testKeys().search,
    balances: scriptedBalances(INT64_MAX),
    nextNumericId: () => '118432100000420001',
  }
}

function request(changes: Partial<CreatePaymentRequest> = {}): CreatePaymentRequest {
  return {
    merchant_id: '7001',
    environment: 'test',
    policy: POLICY,
    service_id: WITHDRAWAL_ROUTE.service_id,
    direction: 'out',
    c_id: uuidv7(),
    amount: 150_000n,
    currency: 'INR',
    beneficiary: { account_id: '123456789012', ifsc: 'SBIN0001234' },
    payload_hash: 'first',
    ...changes,
  }
}

const stored = ({ merchant_id, environment, c_id }: CreatePaymentRequest) =>
  fixture.store.payments.get({ merchant_id, environment, c_id })

/** Runs work for a caller whose deadline ends soon. */
const inAHurry = <T>(work: () => Promise<T>): Promise<T> =>
  withRequest({ request_id: 'r-1', deadline_ms: clock.monotonic_ms() + 500 }, work)

describe('refusals', () => {
  const unknown_account = { beneficiary: { account_id: '1', ifsc: 'SBIN0001234' } }
  const no_ifsc = { beneficiary: { account_id: '123456789012' } }

  // E9, P12: each row takes precedence over all later rows; the last two are decided by the route and the ledger.
  test.each<[string, number, Partial<CreatePaymentRequest>, Partial<PaymentRoute>, boolean]>([
    ['a deposit on this route', 1008, { direction: 'in', ...unknown_account }, {}, false],
    ['a disabled route', 1002, unknown_account, { enabled: false }, false],
    ['an amount below the minimum', 6001, unknown_account, { minimum_amount: 150_001n }, false],
    ['another currency', 6002, { currency: 'TRY', ...unknown_account }, {}, false],
    ['a missing IFSC', 1005, no_ifsc, { provider_accounts: ['down'] }, true],
    ['a bad account', 8600, unknown_account, { provider_accounts: ['down'] }, true],
    ['a used c_id', 6009, {}, { provider_accounts: ['down'] }, true],
    ['accounts that are all known to be down', 7002, {}, { provider_accounts: ['down'] }, false],
    ['a refusal by the ledger', 6004, {}, {}, false],
  ])('%s is %d, also when later ones apply', async (_what, code, changes, route, is_used) => {
    const input = request(changes)
    if (is_used) await createPayment(depsOver(scriptedLedger()), request({ c_id: input.c_id }))
    const refusing = scriptedLedger(() => 6004)
    await expect(createPayment(depsOver(refusing, route), input)).rejects.toMatchObject({ code })
    expect(refusing.holds).toHaveLength(code === 6004 ? 1 : 0)
    const kept = is_used ? 'created' : code === 6004 ? 'refused' : undefined
    expect((await stored(input))?.status).toBe(kept)
  })
})

// P3
describe('a c_id that the ledger refused', () => {
  test('can be used by another request at once, under a new hold', async () => {
    const input = request()
    const codes = [6004, 6006, 0]
    const ledger = scriptedLedger(() => codes.shift() ?? 0)
    const deps = depsOver(ledger)
    await expect(createPayment(deps, input)).rejects.toMatchObject({ code: 6004 })
    const again = (payload_hash: string) => request({ c_id: input.c_id, payload_hash })
    await expect(createPayment(deps, again('second'))).rejects.toMatchObject({ code: 6006 })
    const third = await createPayment(deps, again('third'))
    expect(third).toMatchObject({ status: 'created' })
    expect(third).not.toHaveProperty('payload_mac')
    expect(new Set(ledger.holds.map(({ holdId }) => holdId)).size).toBe(3)
    const range = { equals: [input.merchant_id] }
    const records = await fixture.store.withdrawal_refusals.find('key', range, { limit: 1_000 })
    const of_c_id = records.filter(({ c_id }) => c_id === input.c_id)
    expect(of_c_id.map(({ error_code }) => error_code)).toEqual([6004, 6006])
  })

  test('gives the same request the same refusal for 60 seconds, although there are funds now', async () => {
    const steady_clock = createAdjustableClock()
    const restoreClock = useClock(steady_clock)
    const input = request()
    const codes = [6004]
    const ledger = scriptedLedger(() => codes.shift() ?? 0)
    const deps = depsOver(ledger)
    for (let at_ms = 0; at_ms < 60_000; at_ms += 20_000) {
      const repeated = await Promise.allSettled([createPayment(deps, input), createPayment(deps, input)])
      expect(repeated).toMatchObject([{ reason: { code: 6004 } }, { reason: { code: 6004 } }])
      steady_clock.stepWall(20_000)
    }
    expect(ledger.holds).toHaveLength(1)
    expect(await createPayment(deps, input)).toMatchObject({ status: 'created' })
    restoreClock()
  })

  test('remembers the requests that were refused before the last one, until their 60 seconds are over', async () => {
    const steady_clock = createAdjustableClock()
    const restoreClock = useClock(steady_clock)
    const input = request()
    const other = request({ c_id: input.c_id, payload_hash: 'other' })
    const codes = [6004, 6006]
    const ledger = scriptedLedger(() => codes.shift() ?? 0)
    const deps = depsOver(ledger)
    await expect(createPayment(deps, input)).rejects.toMatchObject({ code: 6004 })
    steady_clock.stepWall(30_000)
    await expect(createPayment(deps, other)).rejects.toMatchObject({ code: 6006 })
    await expect(createPayment(deps, input)).rejects.toMatchObject({ code: 6004 })
    expect(ledger.holds).toHaveLength(2)
    steady_clock.stepWall(30_000)
    await expect(createPayment(deps, other)).rejects.toMatchObject({ code: 6006 })
    const created = await createPayment(deps, input)
    expect(created).toMatchObject({ status: 'created' })
    expect(created).not.toHaveProperty('earlier_refusals')
    restoreClock()
  })

  test('remembers nine requests at most: the last one and eight before it', async () => {
    const { c_id } = request()
    const refusing = depsOver(scriptedLedger(() => 6004))
    const send = (deps: CreatePaymentDeps, number: number) =>
      createPayment(deps, request({ c_id, payload_hash: `request ${number}` }))
    for (let number = 1; number <= 10; number += 1)
      await expect(send(refusing, number)).rejects.toMatchObject({ code: 6004 })
    const deps = depsOver(scriptedLedger())
    await expect(send(deps, 2)).rejects.toMatchObject({ code: 6004 })
    expect(await send(deps, 1)).toMatchObject({ status: 'created' })
  })

  test('is not taken from a request that was refused meanwhile, so that this one is refused again', async () => {
    const { c_id } = request()
    const refusing = depsOver(scriptedLedger(() => 6004))
    const send = (deps: CreatePaymentDeps, payload_hash: string) =>
      createPayment(deps, request({ c_id, payload_hash }))
    await expect(send(refusing, 'first')).rejects.toMatchObject({ code: 6004 })
    const { withdrawal_refusals } = fixture.store
    let is_overtaken = false
    const overtaken: CreatePaymentDeps = {
      ...depsOver(scriptedLedger(() => 6006)),
      withdrawal_refusals: {
        ...withdrawal_refusals,
        async insert(...refusal) {
          if (!is_overtaken) {
            is_overtaken = true
            await expect(send(refusing, 'faster')).rejects.toMatchObject({ code: 6004 })
          }
          return withdrawal_refusals.insert(...refusal)
        },
      },
    }
    await expect(send(overtaken, 'slower')).rejects.toMatchObject({ code: 6006 })
    const deps = depsOver(scriptedLedger())
    for (const [payload_hash, code] of [
      ['first', 6004],
      ['faster', 6004],
      ['slower', 6006],
    ] as const)
      await expect(send(deps, payload_hash)).rejects.toMatchObject({ code })
    expect(is_overtaken).toBe(true)
  })

  test('goes to one of several other requests at once', async () => {
    const input = request()
    const codes = [6004]
    const deps = depsOver(scriptedLedger(() => codes.shift() ?? 0))
    await expect(createPayment(deps, input)).rejects.toMatchObject({ code: 6004 })
    const others = Array.from({ length: 5 }, (_, number) =>
      request({ c_id: input.c_id, payload_hash: `other ${number}` }),
    )
    const results = await Promise.allSettled(others.map((other) => createPayment(deps, other)))
    expect(results.filter(({ status }) => status === 'fulfilled')).toHaveLength(1)
    for (const result of results)
      if (result.status === 'rejected') expect(result.reason).toMatchObject({ code: 6009 })
  })
})

/** The breaker of an account that failed until its breaker opened. */
async function openedBreaker(): Promise<CircuitBreaker> {
  const breaker = createCircuitBreaker(() => {})
  for (let count = 0; count < 5; count += 1)
    await breaker.observe(async () => ({ kind: 'not_sent', reason: 'refused', is_provider_failure: true }))
  return breaker
}

// E9
test('a refused withdrawal is not the probe of a half-open account', async () => {
  using manual_clock = installManualClock()
  const breaker = await openedBreaker()
  const { chooseAccounts } = createAccountSelection(
    () => ({ breaker }) as ConnectedAccount,
    () => true,
  )
  const codes = [0, 6004]
  const used = request()
  const deps = { ...depsOver(scriptedLedger(() => codes.shift() ?? 0)), chooseAccounts }
  await manual_clock.advance(5_000)
  expect(await createPayment(deps, used)).toMatchObject({ status: 'created' })
  await expect(createPayment(deps, request())).rejects.toMatchObject({ code: 7002 })
  await manual_clock.advance(5_000)
  await expect(createPayment(deps, used)).rejects.toMatchObject({ code: 6009 })
  await expect(createPayment(deps, request())).rejects.toMatchObject({ code: 6004 })
  expect(await createPayment(deps, request())).toMatchObject({ status: 'created' })
  await expect(createPayment(deps, request())).rejects.toMatchObject({ code: 7002 })
})

// P3, E13
test('a ledger that does not decide in time is 2002, and payment.status completes the withdrawal', async () => {
  let is_down = true
  const ledger = scriptedLedger(() => {
    if (is_down) throw new Error('the ledger is down')
    return 0
  })
  const deps = depsOver(ledger)
  const input = request()
  await expect(inAHurry(() => createPayment(deps, input))).rejects.toThrow(Unavailable)
  const { merchant_id, environment, c_id } = input
  const query = { merchant_id, environment, policy: POLICY, c_id }
  await expect(inAHurry(() => findPayment(deps, query))).rejects.toThrow(Unavailable)
  await expect(inAHurry(() => createPayment(deps, input))).rejects.toThrow(Unavailable)
  is_down = false
  await eventually(
    () => findPayment(deps, query).catch(() => undefined),
    (found) => found?.status === 'created',
  )
  await expect(createPayment(deps, input)).rejects.toMatchObject({
    code: 6009,
    context: { status: 'created' },
  })
  expect(new Set(ledger.holds.map(({ holdId }) => holdId)).size).toBe(1)
})

// P3
test('a lost answer of a refusal is recovered: payment.status says 6010, and another request can use the c_id', async () => {
  let is_lost = true
  const ledger = scriptedLedger(() => {
    if (is_lost) throw new Error('the answer is lost')
    return 6004
  })
  const deps = depsOver(ledger)
  const input = request()
  await expect(inAHurry(() => createPayment(deps, input))).rejects.toThrow(Unavailable)
  is_lost = false
  const { merchant_id, environment, c_id } = input
  const query = { merchant_id, environment, policy: POLICY, c_id }
  await eventually(
    () => findPayment(deps, query).catch((error: { readonly code?: number }) => error),
    (found) => found !== undefined && 'code' in found && found.code === 6010,
  )
  const other = request({ c_id: input.c_id, payload_hash: 'other' })
  expect(await createPayment(depsOver(scriptedLedger()), other)).toMatchObject({ status: 'created' })
})

// E11
test('a second request waits for the decision about the first one', async () => {
  const decision = Promise.withResolvers<number>()
  const ledger = scriptedLedger(() => decision.promise)
  const deps = depsOver(ledger)
  const input = request()
  const first = createPayment(deps, input)
  // Their rejections are handled at once, because they can come before the result of the first one.
  const others = Promise.allSettled(Array.from({ length: 5 }, () => createPayment(deps, input)))
  decision.resolve(0)
  const { h_id } = await first
  for (const other of await others)
    expect(other).toMatchObject({ reason: { code: 6009, context: { h_id, status: 'created' } } })
  expect(ledger.holds).toHaveLength(1)
})

test('a refused withdrawal that a crash left is recorded, and replaced by another request with its c_id', async () => {
  const input = request()
  const left = refuseWithdrawal({ ...newReservation({ c_id: input.c_id }), effects: [] }, 6004, now())
  await fixture.store.payments.insert(left)
  const created = await createPayment(depsOver(scriptedLedger()), input)
  expect(created).toMatchObject({ status: 'created' })
  expect(created.payment_id).not.toBe(left.payment_id)
  const { merchant_id, payment_id } = left
  expect(await fixture.store.withdrawal_refusals.get({ merchant_id, payment_id })).toBeDefined()
})

// P19
test('a refused withdrawal of a restored backup is not replaced, and its c_id is used, also when another refusal applies', async () => {
  const input = request()
  const reserving = {
    ...newReservation({ c_id: input.c_id }),
    effects: [],
    restored: 'asking_accounts',
  } as const
  const left = refuseWithdrawal(reserving, 6004, now())
  await fixture.store.payments.insert(left)
  for (const route of [{}, { provider_accounts: ['down'] }]) {
    const error = await createPayment(depsOver(scriptedLedger(), route), input).catch((thrown) => thrown)
    expect(error).toMatchObject({ code: 6009 })
    expect(error.context).toBeUndefined()
  }
  const { merchant_id, payment_id } = left
  expect(await stored(input)).toMatchObject({ payment_id, status: 'refused' })
  expect(await fixture.store.anomalies.find('key', { equals: [merchant_id] }, { limit: 1 })).toEqual([])
})

// E11: seed 398746377 of the simulation, in which two requests for one payment succeeded.
test('a refused request gets its refusal when another payment has its c_id by the time it reads', async () => {
  const input = request()
  const successor = newDeposit({ c_id: input.c_id, payment_id: uuidv7(), effects: [] })
  const hold = bindHoldFunds({
    ledger: scriptedLedger(() => 6004).client,
    findRoute: async () => WITHDRAWAL_ROUTE,
  })
  const [record, discard] = bindRefusal(fixture.store)
  if (!record || !discard) throw new Error('a refusal has two effects')
  const recordAndReplace: typeof record = {
    ...record,
    async run(effect, document) {
      const change = await record.run(effect, document)
      await fixture.store.payments.replace(successor, document.version)
      return change
    },
  }
  const deps = { ...depsOver(scriptedLedger()), ...fixture.deps([hold, recordAndReplace, discard]) }
  await expect(createPayment(deps, input)).rejects.toMatchObject({ code: 6004 })
  expect(await stored(input)).toMatchObject({ payment_id: successor.payment_id })
})
