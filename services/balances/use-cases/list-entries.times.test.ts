import { afterEach, beforeEach, describe, expect, test } from '@jest/globals'
import fc from 'fast-check'
import { useClock } from '#lib/base/time.ts'
import { type AdjustableClock, createAdjustableClock } from '../../../test/support/adjustable-clock.ts'
import { trustedClock } from '../../../test/support/clock-guard.ts'
import { propertyRuns } from '../../../test/support/property-runs.ts'
import type { Command } from '../domain/command.ts'
import { shardOf } from '../domain/shard.ts'
import { credit, hold, ledger_signer, openFixture, withJournal } from '../ledger.fixture.ts'
import { createLedger, type Ledger } from '../ledger.ts'
import { openLedgerStore } from '../store/ledger-store.ts'
import { failingOver, merchantsOfShard, readStatement } from './statement.fixture.ts'

const BEGIN_MS = Date.UTC(2026, 10, 22)
const SHARD = shardOf('1000', 'test')
const MERCHANTS = ['1000', ...merchantsOfShard(SHARD, 1)]

let clock: AdjustableClock
let restoreClock: () => void

beforeEach(() => {
  clock = createAdjustableClock()
  clock.stopWall(BEGIN_MS)
  restoreClock = useClock(clock)
})

afterEach(() => restoreClock())

interface DecidedCredit {
  readonly command: Command & { readonly currency: string; readonly amount: bigint }
  readonly time_ms: number
}

/** Groups of credits; before each the clock moves on, or does not move. */
const groups = fc.array(
  fc.record({
    step_ms: fc.constantFrom(0, 0, 1, 2, 5),
    members: fc.array(
      fc.record({
        merchant: fc.constantFrom(...MERCHANTS),
        currency: fc.constantFrom('INR', 'MXN'),
        payment: fc.constantFrom(undefined, 'p', 'q'),
      }),
      { minLength: 1, maxLength: 12 },
    ),
  }),
  { minLength: 1, maxLength: 8 },
)
type Groups = typeof groups extends fc.Arbitrary<infer T> ? T : never

async function decide(ledger: Ledger, drawn: Groups): Promise<DecidedCredit[]> {
  const decided: DecidedCredit[] = []
  let time_ms = BEGIN_MS
  for (const [at, { step_ms, members }] of drawn.entries()) {
    clock.stepWall(step_ms)
    time_ms += step_ms
    const commands = members.map(({ merchant, currency, payment }, number) => ({
      ...credit(`${at} ${number}`, BigInt(number + 1), merchant, currency),
      ...(payment === undefined ? {} : { payment_id: payment }),
    }))
    await Promise.all(commands.map((one) => ledger.submit('test', one)))
    decided.push(...commands.map((command) => ({ command, time_ms })))
  }
  return decided
}

test('a statement of a time, a currency or a payment has its entries in either order, in pages of any size', async () => {
  const property = fc.asyncProperty(
    groups,
    fc.record({
      merchant_id: fc.constantFrom(...MERCHANTS),
      payment_id: fc.constantFrom(undefined, undefined, 'p'),
      currency: fc.constantFrom(undefined, 'INR', 'MXN', 'ARS'),
      from_ms: fc.option(fc.integer({ min: -1, max: 20 }), { nil: undefined }),
      to_ms: fc.option(fc.integer({ min: -1, max: 20 }), { nil: undefined }),
      newest_first: fc.boolean(),
      limit: fc.integer({ min: 1, max: 9 }),
    }),
    async (drawn, { from_ms, to_ms, ...filters }) => {
      clock.stopWall(BEGIN_MS)
      await using fixture = await openFixture()
      const decided = await decide(fixture.ledger, drawn)
      const expected = decided
        .filter(({ command, time_ms }) => {
          const { merchant_id, payment_id, currency } = filters
          return (
            command.merchant_id === merchant_id &&
            (currency === undefined || command.currency === currency) &&
            (payment_id === undefined || ('payment_id' in command && command.payment_id === payment_id)) &&
            (from_ms === undefined || time_ms >= BEGIN_MS + from_ms) &&
            (to_ms === undefined || time_ms < BEGIN_MS + to_ms)
          )
        })
        .map(({ command }) => command.id)
      const ids = await readStatement(fixture.ledger, {
        environment: 'test',
        ...filters,
        created_from: from_ms === undefined ? undefined : new Date(BEGIN_MS + from_ms),
        created_to: to_ms === undefined ? undefined : new Date(BEGIN_MS + to_ms),
      })
      expect(ids).toEqual(filters.newest_first ? expected.toReversed() : expected)
    },
  )
  await fc.assert(property, { numRuns: propertyRuns(60) })
}, 120_000)

describe('the balances at an instant', () => {
  test('are the sums of the entries up to it, its millisecond included', async () => {
    const property = fc.asyncProperty(groups, async (drawn) => {
      clock.stopWall(BEGIN_MS)
      await using fixture = await openFixture()
      const decided = await decide(fixture.ledger, drawn)
      for (const merchant_id of MERCHANTS) {
        for (let ms = -1; ms < 20; ms += 3) {
          const sums = new Map<string, bigint>()
          for (const { command, time_ms } of decided) {
            if (command.merchant_id !== merchant_id || time_ms > BEGIN_MS + ms) continue
            sums.set(command.currency, (sums.get(command.currency) ?? 0n) + command.amount)
          }
          const balances = await fixture.ledger.balancesAt('test', merchant_id, new Date(BEGIN_MS + ms))
          expect(balances).toEqual(
            [...sums].sort().map(([currency, available]) => ({ currency, available, held: 0n })),
          )
        }
      }
    })
    await fc.assert(property, { numRuns: propertyRuns(20) })
  }, 120_000)

  test('include what was held', async () => {
    await using fixture = await openFixture()
    const { ledger } = fixture
    await ledger.submit('test', credit('a', 10n))
    clock.stepWall(1_000)
    await ledger.submit('test', hold('h', 4n))
    const at = (ms: number) => ledger.balancesAt('test', '1000', new Date(BEGIN_MS + ms))
    expect(await at(999)).toEqual([{ currency: 'INR', available: 10n, held: 0n }])
    expect(await at(1_000)).toEqual([{ currency: 'INR', available: 6n, held: 4n }])
    expect(await at(-1)).toEqual([])
  })

  test('include what another process committed, also while a former primary would answer', async () => {
    await using fixture = await openFixture()
    const failOver = failingOver(fixture.opened)
    const ledger = createLedger(await openLedgerStore(failOver.store, ledger_signer), trustedClock)
    const balances = () => ledger.balancesAt('test', '1000', new Date(BEGIN_MS))
    await fixture.ledger.submit('test', credit('a', 10n))
    expect(await balances()).toEqual([{ currency: 'INR', available: 10n, held: 0n }])
    await fixture.ledger.submit('test', credit('b', 5n))
    await fixture.ledger.submit('test', credit('c', 7n, '1000', 'MXN'))
    failOver.begin()
    expect(await balances()).toEqual([
      { currency: 'INR', available: 15n, held: 0n },
      { currency: 'MXN', available: 7n, held: 0n },
    ])
    await ledger.stop()
  })

  test('cost as many reads in a long journal as in a short one', async () => {
    await using fixture = await openFixture()
    let batches_read = 0
    const { journal } = fixture.store
    const counted = withJournal(fixture.store, {
      async listStatementBatches(...query) {
        const batches = await journal.listStatementBatches(...query)
        batches_read += batches.length
        return batches
      },
    })
    const ledger = createLedger(counted, trustedClock)
    // One entry in MXN, and then a long time without any.
    await ledger.submit('test', credit('rare', 7n, '1000', 'MXN'))
    for (let number = 0; number < 200; number += 1) {
      clock.stepWall(1)
      await ledger.submit('test', credit(`c${number}`, 1n))
    }
    batches_read = 0
    expect(await ledger.balancesAt('test', '1000', new Date(BEGIN_MS + 150))).toEqual([
      { currency: 'INR', available: 150n, held: 0n },
      { currency: 'MXN', available: 7n, held: 0n },
    ])
    expect(batches_read).toBe(2)
    await ledger.stop()
  })
})
