import { describe, expect, test } from '@jest/globals'
import { HoldResolution } from '#gen/multihub/balances/v1/ledger_service_pb.ts'
import { uuidv7 } from '#lib/base/ids.ts'
import { eventually } from '../../test/support/eventually.ts'
import { type CheckCase, type CrashedFlow, openCrashTests } from './crash-everywhere.fixture.ts'
import { newOutside, type Scenario, startCrashingProcess } from './crashing-process.fixture.ts'
import type { CreatePaymentRequest } from './domain/new-payment.ts'
import type { StoredPayment } from './domain/payment.ts'
import { discardRefusedEffect } from './domain/payment-effects.ts'
import type { CrashPoint } from './process-life.fixture.ts'
import { createPayment } from './use-cases/create-payment.ts'

const tests = openCrashTests()

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
    payload_hash: 'first',
  }
}

/** A create and what follows it. */
const withdrawal: CrashedFlow<CreatePaymentRequest, StoredPayment | undefined> = {
  newCase: async () => newRequest(),
  async run(process, request) {
    await createPayment(process.deps, request).catch(() => undefined)
    await process.runner.stop()
  },
  async recover(_process, { merchant_id, environment, c_id }) {
    const read = () => tests.store().payments.get({ merchant_id, environment, c_id })
    const settled = await eventually(read, (current) =>
      (current?.effects ?? []).every(discardRefusedEffect.matches),
    )
    if (settled?.status !== 'refused') return settled
    tests.passTime(60_000)
    return await eventually(read, (current) => current === undefined)
  },
}

type Check = CheckCase<CreatePaymentRequest, StoredPayment | undefined>

/** Crashes a withdrawal at each of its steps in turn, and checks what is left after the recovery. */
function crashEverywhere(scenario: Scenario, when: CrashPoint['when'], check: Check): Promise<number> {
  return tests.crashEverywhere(scenario, when, withdrawal, (left, outside, request, at) => {
    // Before the first write, the withdrawal never existed.
    if (at === 1 && when === 'before') return expect(left).toBeUndefined()
    return check(left, outside, request, at)
  })
}

/** Checks an admitted withdrawal: one hold, one end of it, one order at one account, and one event per status. */
function checkEnd(status: string, resolution: HoldResolution): Check {
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
    await crashEverywhere({ refused_code: 0, accounts }, when, (left, outside, ...rest) => {
      const is_paid = outside.orders.size > 0
      checkEnd(is_paid ? 'success' : 'error', is_paid ? CAPTURE : RELEASE)(left, outside, ...rest)
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
      const records = await tests.store().withdrawal_refusals.find('key', range, { limit: 1_000 })
      expect(records.filter(({ c_id }) => c_id === request.c_id)).toHaveLength(1)
      const funded = startCrashingProcess(tests.store(), newOutside(), { refused_code: 0, accounts })
      expect(await createPayment(funded.deps, request)).toMatchObject({ status: 'success' })
      await funded.runner.stop()
    })
  })
})
