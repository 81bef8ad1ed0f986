import type { Client } from '@connectrpc/connect'
import { describe, expect, test } from '@jest/globals'
import { LedgerAccount } from '#gen/multihub/balances/v1/balance_pb.ts'
import { BalanceService } from '#gen/multihub/balances/v1/balance_service_pb.ts'
import { HoldResolution, LedgerService } from '#gen/multihub/balances/v1/ledger_service_pb.ts'
import { Environment } from '#gen/multihub/common/v1/environment_pb.ts'
import { readConfig } from '#lib/platform/config/config.ts'
import { createRpc } from '#lib/platform/rpc/rpc.ts'
import type { CallerName } from '#lib/platform/rpc/service.ts'
import { RPC_SETTINGS } from '#lib/platform/rpc/settings.ts'
import { openFixture } from '../ledger.fixture.ts'
import { createBalanceService } from './balance-service.ts'
import { createLedgerService } from './ledger-service.ts'

interface Rpcs extends AsyncDisposable {
  balances(caller?: CallerName): Client<typeof BalanceService>
  ledger(caller?: CallerName): Client<typeof LedgerService>
}

async function openRpcs(): Promise<Rpcs> {
  const fixture = await openFixture()
  const rpc = await createRpc(readConfig(RPC_SETTINGS, {}))
  rpc.add([createBalanceService(fixture.ledger), createLedgerService(fixture.ledger)])
  return {
    balances: (caller = 'operator') => rpc.clientsOf(caller)(BalanceService),
    ledger: (caller = 'payments') => rpc.clientsOf(caller)(LedgerService),
    async [Symbol.asyncDispose]() {
      rpc.close()
      await fixture[Symbol.asyncDispose]()
    },
  }
}

const owner = { merchantId: '1000', environment: Environment.TEST }

const adjustment = (operationId: string, minor: bigint) => ({
  ...owner,
  currency: 'INR',
  amount: { minor, currency: 'INR' },
  reason: 'opening balance',
  operationId,
})

const transfer = (transferId: string, minor: bigint) => ({
  ...owner,
  transferId,
  debit: LedgerAccount.CLEARING,
  credit: LedgerAccount.AVAILABLE,
  amount: { minor, currency: 'INR' },
  paymentId: 'p',
  reason: 'deposit',
})

const holdOf = (holdId: string, minor: bigint) => ({
  ...owner,
  holdId,
  amount: { minor, currency: 'INR' },
  paymentId: 'q',
  reason: 'payout',
})

describe('BalanceService', () => {
  test('corrects a balance up and down, once per operation id', async () => {
    await using rpcs = await openRpcs()
    const balances = rpcs.balances()
    const first = await balances.adjust(adjustment('op', 500n))
    expect(first).toMatchObject({
      balance: { currency: 'INR', available: 500n, held: 0n },
      entry: { amount: { minor: 500n } },
    })
    await balances.adjust(adjustment('down', -700n))
    expect(await balances.adjust(adjustment('op', 500n))).toEqual(first)
    await expect(balances.adjust(adjustment('op', 501n))).rejects.toMatchObject({ code: 1013 })
    expect(await balances.getBalances(owner)).toMatchObject({
      balances: [{ currency: 'INR', available: -200n }],
    })
    await balances.adjust({ ...adjustment('op', 3n), merchantId: '31' })
    expect(await balances.getBalances({ ...owner, environment: Environment.PRODUCTION })).toMatchObject({
      balances: [],
    })
  })

  test('lists entries by page, of a merchant or of one payment', async () => {
    await using rpcs = await openRpcs()
    const balances = rpcs.balances()
    for (let number = 0; number < 7; number += 1) await rpcs.ledger().postTransfer(transfer(`t${number}`, 1n))
    await balances.adjust(adjustment('op', 1n))
    const ids: string[] = []
    let pageToken = ''
    do {
      const page = await balances.listEntries({ merchantId: '1000', pageSize: 3, pageToken })
      ids.push(...page.entries.map(({ entryId }) => entryId))
      pageToken = page.nextPageToken
    } while (pageToken !== '')
    expect(ids).toEqual(['t0', 't1', 't2', 't3', 't4', 't5', 't6', 'adjust:1000:op'])
    const { entries } = await balances.listEntries({ merchantId: '1000', paymentId: 'p', pageSize: 100 })
    expect(entries).toHaveLength(7)
    expect(await balances.listEntries({ merchantId: '31' })).toMatchObject({ entries: [], nextPageToken: '' })
  })

  test('verifies the ledger and rebuilds its projections', async () => {
    await using rpcs = await openRpcs()
    const balances = rpcs.balances()
    await balances.adjust(adjustment('op', 500n))
    expect(await balances.verifyLedger({})).toMatchObject({
      consistent: true,
      transfers: 1n,
      differences: [],
    })
    expect(await balances.rebuildProjections({})).toMatchObject({})
  })
})

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
    const end = { ...owner, holdId: 'h', resolution: HoldResolution.CAPTURE, reason: 'payout' }
    expect(await ledger.resolveHold(end)).toMatchObject({
      entry: { entryId: 'h:resolve', paymentId: 'q', heldAfter: 0n },
    })
    const other = { ...end, resolution: HoldResolution.RELEASE }
    await expect(ledger.resolveHold(other)).rejects.toMatchObject({ code: 1013 })
    await expect(ledger.resolveHold({ ...end, holdId: 'i' })).rejects.toMatchObject({ code: 8801 })
    await expect(ledger.postTransfer(transfer('u', 2n ** 63n - 1n))).rejects.toMatchObject({ code: 6001 })
  })

  test.each<[CallerName, CallerName]>([['gateway', 'operator']])(
    'refuses %s and %s, and callers without permission for Adjust and Forward',
    async (...callers) => {
      await using rpcs = await openRpcs()
      for (const caller of callers)
        await expect(rpcs.ledger(caller).placeHold(holdOf('h', 1n))).rejects.toThrow()
      await expect(rpcs.balances('payments').adjust(adjustment('op', 1n))).rejects.toThrow()
      await expect(rpcs.ledger('payments').forward({ shard: 64, commands: [] })).rejects.toThrow()
    },
  )
})

describe('refuses a bad request with its code and the path of the field', () => {
  type Call = (rpcs: Rpcs) => Promise<unknown>
  const cases: [number, string, Call][] = [
    [1005, 'merchant_id', (rpcs) => rpcs.balances().getBalances({ ...owner, merchantId: '' })],
    [1005, 'environment', (rpcs) => rpcs.balances().getBalances({ merchantId: '1000' })],
    [9000, 'environment', (rpcs) => rpcs.balances().getBalances({ ...owner, environment: 7 as Environment })],
    [9000, 'merchant_id', (rpcs) => rpcs.balances().getBalances({ ...owner, merchantId: 'x'.repeat(201) })],
    [
      1005,
      'amount',
      (rpcs) => rpcs.balances().adjust({ ...owner, currency: 'INR', operationId: 'o', reason: 'r' }),
    ],
    [9000, 'amount.minor', (rpcs) => rpcs.balances().adjust(adjustment('o', 0n))],
    [9000, 'amount.minor', (rpcs) => rpcs.balances().adjust(adjustment('o', -(2n ** 63n)))],
    [9000, 'amount.currency', (rpcs) => rpcs.balances().adjust({ ...adjustment('o', 1n), currency: 'MXN' })],
    [9000, 'currency', (rpcs) => rpcs.balances().adjust({ ...adjustment('o', 1n), currency: 'inr' })],
    [1005, 'operation_id', (rpcs) => rpcs.balances().adjust(adjustment('', 1n))],
    [9000, 'operation_id', (rpcs) => rpcs.balances().adjust(adjustment('x'.repeat(129), 1n))],
    [1005, 'reason', (rpcs) => rpcs.balances().adjust({ ...adjustment('o', 1n), reason: '' })],
    [9000, 'reason', (rpcs) => rpcs.balances().adjust({ ...adjustment('o', 1n), reason: 'a\nb' })],
    [9000, 'page_size', (rpcs) => rpcs.balances().listEntries({ merchantId: '1000', pageSize: 101 })],
    [9000, 'page_token', (rpcs) => rpcs.balances().listEntries({ merchantId: '1000', pageToken: '1' })],
    [
      9000,
      'page_token',
      (rpcs) => rpcs.balances().listEntries({ merchantId: '1000', pageToken: `${2n ** 63n}.0` }),
    ],
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
