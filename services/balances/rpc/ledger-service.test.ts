import { describe, expect, test } from '@jest/globals'
import { LedgerAccount, LedgerEntryKind } from '#gen/multihub/balances/v1/balance_pb.ts'
import { HoldResolution } from '#gen/multihub/balances/v1/ledger_service_pb.ts'
import { Environment } from '#gen/multihub/common/v1/environment_pb.ts'
import type { CallerName } from '#lib/rpc/service.ts'
import { BATCH_ENTRIES_MAX } from '../limits.ts'
import { adjustment, type BalancesRpcs, holdOf, openRpcs, owner, transfer } from './rpcs.fixture.ts'

describe('LedgerService', () => {
  test('returns the entry of transfers, holds and resolutions', async () => {
    await using rpcs = await openRpcs()
    const ledger = rpcs.ledger()
    const { entry } = await ledger.postTransfer(transfer('t', 100n))
    expect(entry).toMatchObject({
      entryId: 't',
      refusedCode: 0,
      availableAfter: 100n,
      shard: 64,
      sequence: 1n,
    })
    expect(await ledger.postTransfer(transfer('t', 100n))).toMatchObject({ entry: { sequence: 1n } })
    await expect(ledger.postTransfer(transfer('t', 101n))).rejects.toMatchObject({ code: 1013 })
    expect(await ledger.placeHold(holdOf('h', 60n))).toMatchObject({
      entry: { refusedCode: 0, heldAfter: 60n },
    })
    expect(await ledger.placeHold(holdOf('i', 60n))).toMatchObject({
      entry: { refusedCode: 6004, heldAfter: 60n },
    })
    const end = { ...owner, holdId: 'h', resolution: HoldResolution.CAPTURE, reason: 'withdrawal' }
    expect(await ledger.resolveHold(end)).toMatchObject({
      entry: { entryId: 'h:resolve', paymentId: 'q', heldAfter: 0n },
    })
    const other = { ...end, resolution: HoldResolution.RELEASE }
    await expect(ledger.resolveHold(other)).rejects.toMatchObject({ code: 1013 })
    await expect(ledger.resolveHold({ ...end, holdId: 'i' })).rejects.toMatchObject({ code: 8801 })
    await expect(ledger.postTransfer(transfer('u', 2n ** 63n - 1n))).rejects.toMatchObject({ code: 6001 })
  })

  test('returns every field of an entry', async () => {
    await using rpcs = await openRpcs()
    const { entry } = await rpcs.ledger().postTransfer(transfer('t', 100n))
    expect(entry).toMatchObject({
      entryId: 't',
      kind: LedgerEntryKind.TRANSFER,
      merchantId: '1000',
      debit: LedgerAccount.CLEARING,
      credit: LedgerAccount.AVAILABLE,
      amount: { minor: 100n, currency: 'INR' },
      paymentId: 'p',
      reason: 'deposit',
      settlementPeriod: 0n,
    })
  })

  test('works on the environment of each request', async () => {
    await using rpcs = await openRpcs()
    const ledger = rpcs.ledger()
    const production = { ...owner, environment: Environment.PRODUCTION }
    const resolution = { ...production, resolution: HoldResolution.RELEASE, reason: 'withdrawal' }
    const { entry } = await ledger.postTransfer({ ...transfer('t', 100n), ...production })
    expect(entry?.shard).toBe(192)
    await rpcs.balances().adjust({ ...adjustment('op', 10n), ...production })
    await rpcs.balances().settle({ ...production, currency: 'INR', operationId: 'op', reason: 'month end' })
    const limits = { serviceId: '7', timezone: 'UTC' }
    expect(await ledger.placeHold({ ...holdOf('h', 30n), ...production, limits })).toMatchObject({
      entry: { refusedCode: 0, counted: { period: 1n } },
    })
    await ledger.placeHold({ ...holdOf('i', 20n), ...production })
    await ledger.resolveHold({ ...resolution, holdId: 'i' })
    expect(await ledger.checkHold({ ...production, amount: { minor: 81n, currency: 'INR' } })).toMatchObject({
      refusedCodes: [6004],
      available: 80n,
    })
    expect(await rpcs.balances().getBalances(production)).toMatchObject({
      balances: [{ currency: 'INR', available: 80n, held: 30n }],
    })
    expect((await rpcs.balances().listEntries(production)).entries).toHaveLength(6)
    expect(await rpcs.balances().getBalances(owner)).toMatchObject({ balances: [] })
    expect(await rpcs.balances().listEntries(owner)).toMatchObject({ entries: [] })
  })

  test('returns the entry of a release that arrives before its hold, and refuses the hold', async () => {
    await using rpcs = await openRpcs()
    const ledger = rpcs.ledger()
    const end = { ...owner, holdId: 'h', resolution: HoldResolution.RELEASE, reason: 'withdrawal' }
    expect(await ledger.resolveHold(end)).toMatchObject({
      entry: { entryId: 'h:resolve', refusedCode: 8801, amount: { minor: 0n, currency: '' } },
    })
    expect(await ledger.placeHold(holdOf('h', 60n))).toMatchObject({ entry: { refusedCode: 8801 } })
  })

  test('refuses a withdrawal by its limits and states where an accepted one is counted', async () => {
    await using rpcs = await openRpcs()
    const ledger = rpcs.ledger()
    await ledger.postTransfer(transfer('t', 100n))
    const limits = { serviceId: '7', timezone: 'UTC', daily: 60n }
    const { entry } = await ledger.placeHold({ ...holdOf('h', 60n), limits })
    expect(entry).toMatchObject({ refusedCode: 0, counted: { serviceId: '7', period: 0n } })
    expect(entry?.counted?.day).toMatch(/^\d{4}-\d{2}-\d{2}$/)
    expect(await ledger.placeHold({ ...holdOf('i', 1n), limits })).toMatchObject({
      entry: { refusedCode: 6006, heldAfter: 60n },
    })
  })

  test('says how a hold would be decided, with the totals of its route, and records nothing', async () => {
    await using rpcs = await openRpcs()
    const ledger = rpcs.ledger()
    await ledger.postTransfer(transfer('t', 100n))
    const limits = { serviceId: '7', timezone: 'UTC', daily: 60n }
    await ledger.placeHold({ ...holdOf('h', 40n), limits })
    const check = (minor: bigint) =>
      ledger.checkHold({ ...owner, amount: { minor, currency: 'INR' }, limits })
    const totals = { count: { serviceId: '7' }, dayTotal: 40n, monthTotal: 40n, periodTotal: 40n }
    expect(await check(20n)).toMatchObject({ refusedCodes: [], available: 60n, totals })
    expect(await check(21n)).toMatchObject({ refusedCodes: [6006], available: 60n, totals })
    expect(await check(61n)).toMatchObject({ refusedCodes: [6004, 6006], available: 60n, totals })
    expect(await ledger.placeHold({ ...holdOf('i', 20n), limits })).toMatchObject({
      entry: { refusedCode: 0, sequence: 3n },
    })
    const { totals: none } = await ledger.checkHold({ ...owner, amount: { minor: 1n, currency: 'INR' } })
    expect(none).toBeUndefined()
  })

  test.each<[string, object, number, string]>([
    ['without a route', { serviceId: '0' }, 1005, 'limits.service_id'],
    ['with a route that is not a number', { serviceId: '-7' }, 9000, 'limits.service_id'],
    ['with a route that is too large a number', { serviceId: '9007199254740993' }, 9000, 'limits.service_id'],
    ['without a time zone', { timezone: '' }, 1005, 'limits.timezone'],
    ['with an unknown time zone', { timezone: 'Mars/Olympus' }, 9000, 'limits.timezone'],
    ['with a negative limit', { sinceSettlement: -1n }, 9000, 'limits.since_settlement'],
  ])('refuses limits %s', async (_, wrong, code, path) => {
    await using rpcs = await openRpcs()
    const limits = { serviceId: '7', timezone: 'UTC', ...wrong }
    await expect(rpcs.ledger().placeHold({ ...holdOf('h', 1n), limits })).rejects.toMatchObject({
      code,
      details: { description: path },
    })
  })

  test.each<CallerName>(['gateway', 'backoffice'])('refuses a hold of the caller %s', async (caller) => {
    await using rpcs = await openRpcs()
    await expect(rpcs.ledger(caller).placeHold(holdOf('h', 1n))).rejects.toThrow()
  })

  test('refuses Forward for callers other than balances', async () => {
    await using rpcs = await openRpcs()
    await expect(rpcs.ledger('payments').forward({ shard: 64, commands: [] })).rejects.toThrow()
  })
})

describe('refuses a bad request with its code and the path of the field', () => {
  const cases: [number, string, (rpcs: BalancesRpcs) => Promise<unknown>][] = [
    [1005, 'transfer_id', (rpcs) => rpcs.ledger().postTransfer(transfer('', 1n))],
    [9000, 'amount.minor', (rpcs) => rpcs.ledger().postTransfer(transfer('t', 0n))],
    [1005, 'debit', (rpcs) => rpcs.ledger().postTransfer({ ...transfer('t', 1n), debit: 0 })],
    [
      9000,
      'credit',
      (rpcs) => rpcs.ledger().postTransfer({ ...transfer('t', 1n), credit: LedgerAccount.HELD }),
    ],
    [9000, 'hold_id', (rpcs) => rpcs.ledger().placeHold(holdOf('a\u0000', 1n))],
    [1005, 'resolution', (rpcs) => rpcs.ledger().resolveHold({ ...owner, holdId: 'h' })],
    [9000, 'shard', (rpcs) => rpcs.ledger('balances').forward({ shard: 256, commands: [] })],
    [
      9000,
      'commands',
      (rpcs) =>
        rpcs.ledger('balances').forward({ shard: 1, commands: new Array(BATCH_ENTRIES_MAX + 1).fill({}) }),
    ],
    [
      9000,
      'commands.0',
      (rpcs) =>
        rpcs.ledger('balances').forward({
          shard: 1,
          commands: [{ command: { case: 'transfer', value: transfer('t', 1n) } }],
        }),
    ],
  ]
  test.each(cases)('%i at %s', async (code, path, call) => {
    await using rpcs = await openRpcs()
    await expect(call(rpcs)).rejects.toMatchObject({ code, details: { description: path } })
  })
})
