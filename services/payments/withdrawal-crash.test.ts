import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { HoldResolution } from '#gen/multihub/balances/v1/ledger_service_pb.ts'
import { uuidv7 } from '#lib/platform/ids.ts'
import { useClock } from '#lib/platform/time.ts'
import { createAdjustableClock } from '../../test/support/adjustable-clock.ts'
import { eventually } from '../../test/support/eventually.ts'
import {
  type CrashingProcess,
  type CrashPoint,
  newOutside,
  type Outside,
  type Scenario,
  startCrashingProcess,
} from './crashing-process.fixture.ts'
import type { StoredPayment } from './domain/payment.ts'
import { openPayments, type PaymentsFixture } from './payments-store.fixture.ts'
import { type CreatePaymentRequest, createPayment } from './use-cases/create-payment.ts'

/** Longer than every lease. */
const LEASES_MS = 600_000
/** More steps than any of these withdrawals has. */
const STEPS_MAX = 60

const clock = createAdjustableClock()
let fixture: PaymentsFixture
let restore: () => void
beforeAll(async () => {
  restore = useClock(clock)
  fixture = await openPayments()
})
afterAll(async () => {
  await fixture[Symbol.asyncDispose]()
  restore()
})

function newRequest(): CreatePaymentRequest {
  return {
    merchant_id: '7001',
    environment: 'test',
    policy: { service_ids: [], currencies: [] },
    service_id: '501',
    direction: 'out',
    c_id: uuidv7(),
    amount: 150_000n,
    currency: 'INR',
    beneficiary: { account_id: '123456789012', ifsc: 'SBIN0001234' },
  }
}

/** Runs a create until it and what follows has ended, or until the process crashes. */
async function runUntilCrash(process: CrashingProcess, request: CreatePaymentRequest): Promise<boolean> {
  const work = async (): Promise<'done'> => {
    await createPayment(process.deps, request).catch(() => undefined)
    await process.runner.stop()
    return 'done'
  }
  return (await Promise.race([work(), process.crashed])) === 'crashed'
}

/** Lets another process take over, and returns the document when nothing is left to do. */
async function recover(
  outside: Outside,
  scenario: Scenario,
  { merchant_id, environment, c_id }: CreatePaymentRequest,
): Promise<StoredPayment | undefined> {
  clock.stepWall(LEASES_MS)
  const { runner } = startCrashingProcess(fixture.store, outside, scenario)
  runner.start()
  const read = () => fixture.store.payments.get({ merchant_id, environment, c_id })
  await eventually(
    async () => (await read())?.effects.length ?? 0,
    (count) => count === 0,
  )
  await runner.stop()
  return await read()
}

/** Crashes a withdrawal at each of its steps in turn, and checks what is left after the recovery. */
async function crashEverywhere(
  scenario: Scenario,
  when: CrashPoint['when'],
  check: (left: StoredPayment | undefined, outside: Outside, request: CreatePaymentRequest) => unknown,
): Promise<number> {
  for (let at = 1; at <= STEPS_MAX; at += 1) {
    const request = newRequest()
    const outside = newOutside()
    const process = startCrashingProcess(fixture.store, outside, scenario, { at, when })
    const has_crashed = await runUntilCrash(process, request)
    const left = await recover(outside, scenario, request)
    // Before the first write, the withdrawal never existed.
    if (at === 1 && when === 'before') expect(left).toBeUndefined()
    else await check(left, outside, request)
    if (!has_crashed) return at - 1
  }
  throw new Error('the withdrawal has no end')
}

/** Checks an admitted withdrawal: one hold, one end of it, one order at one account, and one event per status. */
function checkEnd(
  status: string,
  resolution: HoldResolution,
): (left: StoredPayment | undefined, outside: Outside) => void {
  return (left, { holds, resolutions, orders, events }) => {
    expect(left).toMatchObject({ status })
    expect([...holds.values()]).toEqual([0])
    expect([...resolutions.values()]).toEqual([resolution])
    const keys = [...orders.values()].flatMap((each) => [...each])
    expect(keys).toHaveLength(orders.size)
    expect(keys.length).toBeLessThanOrEqual(1)
    const names = [...events.values()].map((each) => [...each])
    expect(names.every((each) => each.length === 1)).toBe(true)
    expect(names).toHaveLength(2)
  }
}

const { CAPTURE, RELEASE } = HoldResolution

// P3, P4, P9
describe.each(['before', 'after'] as const)('a crash %s any step of a withdrawal', (when) => {
  test('that succeeds leads to one order, one capture and one event per status', async () => {
    const accounts = { first: { at_first: 'success', later: 'success' } } as const
    const steps = await crashEverywhere({ refused_code: 0, accounts }, when, checkEnd('success', CAPTURE))
    expect(steps).toBeGreaterThan(5)
  })

  test('that is declined leads to one release', async () => {
    const accounts = { first: { at_first: 'declined', later: 'declined' } } as const
    await crashEverywhere({ refused_code: 0, accounts }, when, checkEnd('error', RELEASE))
  })

  test('whose provider does not answer leads to one order, at the first account, and one capture', async () => {
    const accounts = {
      first: { at_first: 'silent', later: 'success' },
      second: { at_first: 'success', later: 'success' },
    } as const
    await crashEverywhere({ refused_code: 0, accounts }, when, checkEnd('success', CAPTURE))
  })

  // An attempt that a crash interrupted stays at its account, also when that account is down. It never has two.
  test('that moves to another account leads to one order, at one of them', async () => {
    const accounts = {
      first: { at_first: 'down', later: 'success' },
      second: { at_first: 'success', later: 'success' },
    } as const
    await crashEverywhere({ refused_code: 0, accounts }, when, checkEnd('success', CAPTURE))
  })

  test('that no account takes leads to one release, or to an order at the account that came back', async () => {
    const accounts = { first: { at_first: 'down', later: 'success' } } as const
    await crashEverywhere({ refused_code: 0, accounts }, when, (left, outside) => {
      const is_paid = outside.orders.size > 0
      checkEnd(is_paid ? 'success' : 'error', is_paid ? CAPTURE : RELEASE)(left, outside)
    })
  })

  test('that the ledger refuses leaves one record and a free c_id', async () => {
    const accounts = { first: { at_first: 'success', later: 'success' } } as const
    const scenario: Scenario = { refused_code: 6004, accounts }
    await crashEverywhere(scenario, when, async (left, outside, request) => {
      expect(left).toBeUndefined()
      expect([...outside.holds.values()]).toEqual([6004])
      expect([outside.resolutions.size, outside.orders.size, outside.events.size]).toEqual([0, 0, 0])
      const { merchant_id } = request
      const range = { equals: [merchant_id] }
      const records = await fixture.store.withdrawal_refusals.find('key', range, { limit: 1_000 })
      expect(records.filter(({ c_id }) => c_id === request.c_id)).toHaveLength(1)
      const funded = startCrashingProcess(fixture.store, newOutside(), { refused_code: 0, accounts })
      expect(await createPayment(funded.deps, request)).toMatchObject({ status: 'success' })
      await funded.runner.stop()
    })
  })
})
