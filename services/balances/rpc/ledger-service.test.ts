import { describe, expect, test } from '@jest/globals'
import { LedgerAccount } from '#gen/multihub/balances/v1/balance_pb.ts'
import { HoldResolution } from '#gen/multihub/balances/v1/ledger_service_pb.ts'
import type { CallerName } from '#lib/platform/rpc/service.ts'
import { type BalancesRpcs, holdOf, openRpcs, owner, transfer } from './rpcs.fixture.ts'

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

  test('returns the entry of a release that arrives before its hold, and refuses the hold', async () => {
    await using rpcs = await openRpcs()
    const ledger = rpcs.ledger()
    const end = { ...owner, holdId: 'h', resolution: HoldResolution.RELEASE, reason: 'withdrawal' }
    expect(await ledger.resolveHold(end)).toMatchObject({
      entry: { entryId: 'h:resolve', refusedCode: 8801, amount: { minor: 0n, currency: '' } },
    })
    expect(await ledger.placeHold(holdOf('h', 60n))).toMatchObject({ entry: { refusedCode: 8801 } })
  })

  test.each<CallerName>(['gateway', 'operator'])('refuses a hold of the caller %s', async (caller) => {
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
