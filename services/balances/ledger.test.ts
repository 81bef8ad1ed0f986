import { describe, expect, test } from '@jest/globals'
import { useClock } from '#lib/base/time.ts'
import { createAdjustableClock } from '../../test/support/adjustable-clock.ts'
import { trustedClock } from '../../test/support/clock-guard.ts'
import type { Command } from './domain/command.ts'
import type { CommandResult } from './domain/decide-command.ts'
import type { PayoutLimits } from './domain/payout-limits.ts'
import { credit, hold, openFixture, resolve, withdrawal } from './ledger.fixture.ts'
import { createLedger } from './ledger.ts'
import { verifyLedger } from './verification/verification.fixture.ts'

const wasAccepted = (result: CommandResult): boolean =>
  'recorded' in result && result.recorded.entry.refused_code === undefined

describe('the ledger', () => {
  test('returns balances and the entries in order', async () => {
    await using fixture = await openFixture()
    const { ledger } = fixture
    await ledger.submit('test', credit('a', 1000n))
    const result = await ledger.submit('test', hold('h', 300n))
    expect(result).toMatchObject({ recorded: { entry: { available: 700n, held: 300n } } })
    await ledger.submit('test', resolve('capture', 'h'))
    await ledger.submit('test', credit('m', 5n, '1000', 'ARS'))
    expect(await ledger.accounts('test', '1000')).toMatchObject([
      { currency: 'ARS', available: 5n },
      { currency: 'INR', available: 700n, held: 0n, clearing: -700n },
    ])
    const statement = await ledger.listEntries({ environment: 'test', merchant_id: '1000', limit: 10 })
    expect(statement.map(({ entry }) => entry.id)).toEqual(['a', 'h', 'h:resolve', 'm'])
    const one = await ledger.listEntries({
      environment: 'test',
      merchant_id: '1000',
      payment_id: 'payment of h',
      limit: 10,
    })
    expect(one.map(({ entry }) => entry.id)).toEqual(['h', 'h:resolve'])
    expect(await verifyLedger(fixture.store)).toEqual({ entries: 4n, problems: [] })
  })

  // B1
  test('keeps test and production apart', async () => {
    await using fixture = await openFixture()
    const { ledger } = fixture
    await ledger.submit('test', credit('a', 1000n))
    expect(await ledger.accounts('production', '1000')).toEqual([])
    expect(await ledger.submit('production', hold('h', 1n))).toMatchObject({
      recorded: { entry: { refused_code: 6004 } },
    })
  })

  // B1
  test('accepts exactly as many concurrent holds as the funds cover', async () => {
    await using fixture = await openFixture()
    const { ledger } = fixture
    await ledger.submit('test', credit('a', 1_007n))
    const holds = Array.from({ length: 100 }, (_, index) => hold(`h${index}`, 50n))
    const results = await Promise.all(holds.map((command) => ledger.submit('test', command)))
    expect(results.filter(wasAccepted)).toHaveLength(20)
    expect(await ledger.accounts('test', '1000')).toMatchObject([{ available: 7n, held: 1_000n }])
  })

  // P14: each limit covers 14 withdrawals of 7 and no 15th one.
  test.each<[string, bigint, Partial<PayoutLimits>, number]>([
    ['the funds', 100n, {}, 6004],
    ['the daily limit', 1_000n, { daily: 100n }, 6006],
    ['the monthly limit', 1_000n, { monthly: 100n }, 6005],
    ['the limit since the last settlement', 1_000n, { since_settlement: 100n }, 6035],
  ])(
    'two processes accept exactly as many concurrent withdrawals as %s covers',
    async (_, funds, limits, code) => {
      const clock = createAdjustableClock()
      clock.stopWall()
      const restoreClock = useClock(clock)
      try {
        await using fixture = await openFixture()
        const { ledger, store } = fixture
        const other = createLedger(store, trustedClock)
        await ledger.submit('test', credit('a', funds))
        const commands = Array.from({ length: 60 }, (_, n) => withdrawal(`w${n}`, 7n, limits))
        const results = await Promise.all(
          commands.map((command, n) => (n % 2 === 0 ? ledger : other).submit('test', command)),
        )
        expect(results.filter(wasAccepted)).toHaveLength(14)
        const codes = results.map((result) => 'recorded' in result && result.recorded.entry.refused_code)
        expect(new Set(codes)).toEqual(new Set([undefined, code]))
        expect(await other.accounts('test', '1000')).toMatchObject([{ available: funds - 98n, held: 98n }])
        await other.stop()
        expect(await verifyLedger(store)).toMatchObject({ problems: [] })
      } finally {
        restoreClock()
      }
    },
  )

  test('decides a command once when it is sent twice at the same time', async () => {
    await using fixture = await openFixture()
    const { ledger } = fixture
    const twice = async (commands: Command[]): Promise<CommandResult[]> =>
      await Promise.all([...commands, ...commands].map((command) => ledger.submit('test', command)))
    const credits = await twice(Array.from({ length: 50 }, (_, index) => credit(`c${index}`, 10n)))
    expect(credits.slice(0, 50)).toEqual(credits.slice(50))
    const holds = await twice(Array.from({ length: 50 }, (_, index) => hold(`h${index}`, 20n)))
    expect(holds.filter(wasAccepted)).toHaveLength(50)
    const ends = await twice(
      Array.from({ length: 50 }, (_, index) => resolve(index % 2 ? 'capture' : 'release', `h${index}`)),
    )
    expect(ends.filter(wasAccepted)).toHaveLength(50)
    // 50 credits, 50 holds, the ends of the 25 accepted holds, and the 12 releases of refused holds.
    expect(await verifyLedger(fixture.store)).toEqual({ entries: 137n, problems: [] })
    const accepted_odd = holds
      .slice(0, 50)
      .filter((result, index) => index % 2 === 1 && wasAccepted(result)).length
    expect(await ledger.accounts('test', '1000')).toMatchObject([
      { available: 500n - 20n * BigInt(accepted_odd), held: 0n },
    ])
  })

  test('resolves a hold with the first of capture and release, and rejects the other', async () => {
    await using fixture = await openFixture()
    const { ledger } = fixture
    await ledger.submit('test', credit('a', 100n))
    await ledger.submit('test', hold('h', 40n))
    const ends = Array.from({ length: 20 }, (_, index) => resolve(index % 2 ? 'capture' : 'release', 'h'))
    const results = await Promise.all(ends.map((command) => ledger.submit('test', command)))
    expect(results.filter(wasAccepted)).toHaveLength(10)
    expect(
      results.filter((result) => 'not_recorded' in result && result.not_recorded === 'id_conflict'),
    ).toHaveLength(10)
    expect(await verifyLedger(fixture.store)).toEqual({ entries: 3n, problems: [] })
  })

  test('keeps a refusal permanently, also after a restart', async () => {
    await using fixture = await openFixture()
    const { ledger, store } = fixture
    const refused = await ledger.submit('test', hold('h', 10n))
    expect(refused).toMatchObject({ recorded: { entry: { refused_code: 6004 } } })
    await ledger.submit('test', credit('a', 1_000n))
    await ledger.stop()
    const later = createLedger(store, trustedClock)
    expect(await later.submit('test', hold('h', 10n))).toEqual(refused)
    expect(await later.submit('test', hold('h', 11n))).toEqual({ not_recorded: 'id_conflict' })
    await later.stop()
  })

  test('refuses a hold whose release arrived first, also after a restart, and moves no money', async () => {
    await using fixture = await openFixture()
    const { ledger, store } = fixture
    await ledger.submit('test', credit('a', 100n))
    const released = await ledger.submit('test', resolve('release', 'h'))
    expect(released).toMatchObject({ recorded: { entry: { id: 'h:resolve', refused_code: 8801 } } })
    await ledger.stop()
    const later = createLedger(store, trustedClock)
    const refused = await later.submit('test', hold('h', 40n))
    expect(refused).toMatchObject({ recorded: { entry: { refused_code: 8801, available: 100n, held: 0n } } })
    expect(await later.submit('test', hold('h', 40n))).toEqual(refused)
    expect(await later.submit('test', resolve('release', 'h'))).toEqual(released)
    expect(await later.accounts('test', '1000')).toMatchObject([{ currency: 'INR', available: 100n }])
    await later.stop()
    expect(await verifyLedger(fixture.store)).toEqual({ entries: 3n, problems: [] })
  })

  test('rejects a bad command without affecting its batch', async () => {
    await using fixture = await openFixture()
    const { ledger } = fixture
    const most = 2n ** 63n - 1n
    const commands = [
      credit('a', most),
      credit('b', most),
      credit('c', 0n),
      credit('d', 7n, '31'),
      credit('e\u0000', 1n),
    ]
    const results = await Promise.all(commands.map((command) => ledger.submit('test', command)))
    expect(results.map((result) => ('not_recorded' in result ? result.not_recorded : 'recorded'))).toEqual([
      'recorded',
      'overflow',
      'malformed',
      'recorded',
      'malformed',
    ])
  })

  test('unloads idle shards and continues from their checkpoints', async () => {
    await using fixture = await openFixture()
    const { store } = fixture
    const small = createLedger(store, trustedClock, undefined, 2_000)
    const merchants = Array.from({ length: 8 }, (_, index) => `merchant ${index}`)
    for (let round = 0; round < 5; round += 1) {
      await Promise.all(
        merchants.map((merchant, index) => small.submit('test', credit(`${round} ${index}`, 10n, merchant))),
      )
    }
    for (const merchant of merchants)
      expect(await small.accounts('test', merchant)).toMatchObject([{ available: 50n }])
    await small.stop()
    expect(await verifyLedger(fixture.store)).toEqual({ entries: 40n, problems: [] })
    await expect(small.accounts('test', '1000')).rejects.toThrow('is stopping')
  })
})
