import { expect, test } from '@jest/globals'
import { ArchiveUnavailable } from '#lib/store/errors.ts'
import { trustedClock } from '../../test/support/clock-guard.ts'
import { eventually } from '../../test/support/eventually.ts'
import { checkpointAt, openArchiveFixture } from './archive.fixture.ts'
import { type BalancesProcess, startProcess } from './balances-process.fixture.ts'
import { adjustmentId, type Command } from './domain/command.ts'
import { NewerBatchFormat } from './domain/hash-chain.ts'
import { shardOf } from './domain/shard.ts'
import { rankShardOwners } from './forwarding/shard-placement.ts'
import {
  credit,
  hold,
  ledger_signer,
  NEXT_FORMATS,
  openFixture,
  resolve,
  settle,
  withdrawal,
  withJournal,
} from './ledger.fixture.ts'
import { createLedger } from './ledger.ts'
import { openLedgerStore } from './store/ledger-store.ts'
import { verifyLedger } from './verification/verification.fixture.ts'

/** A merchant whose shard one of two processes owns. It has another shard than `not_shard`. */
function merchantOf(owner: BalancesProcess, other: BalancesProcess, not_shard?: number): string {
  const addresses = [owner.address, other.address]
  for (let number = 0; ; number += 1) {
    const shard = shardOf(`m${number}`, 'test')
    if (shard !== not_shard && rankShardOwners(shard, addresses)[0] === owner.address) return `m${number}`
  }
}

function everyKindOf(merchant: string): readonly Command[] {
  return [
    credit('a', 100n, merchant),
    { ...credit('b', 9_007_199_254_740_993n, merchant), payment_id: 'p' },
    hold('h', 40n, merchant),
    resolve('capture', 'h', merchant),
    hold('i', 2n ** 62n, merchant),
    withdrawal('p', 7n, { daily: 10n, timezone: 'Asia/Kolkata' }, merchant),
    withdrawal('q', 7n, { daily: 10n }, merchant),
    withdrawal('r', 7n, { monthly: 10n }, merchant),
    withdrawal('s', 7n, { maximum: 6n }, merchant),
    withdrawal('t', 7n, { since_settlement: 10n }, merchant),
    hold('j', 10n, merchant),
    resolve('release', 'j', merchant),
    resolve('release', 'none', merchant),
    hold('none', 1n, merchant),
    resolve('capture', 'absent', merchant),
    settle('op', 'INR', merchant),
    withdrawal('u', 7n, { since_settlement: 10n }, merchant),
    { ...credit('a', 101n, merchant) },
    credit('too much', 2n ** 63n - 1n, merchant),
    {
      kind: 'adjustment',
      id: adjustmentId(merchant, 'op'),
      merchant_id: merchant,
      operation_id: 'op',
      currency: 'INR',
      amount: -3n,
      payment_id: 'p',
      reason: 'a mistake',
    },
  ]
}

test('forwards commands to the owner of the shard and returns every kind of result unchanged', async () => {
  await using fixture = await openFixture()
  const { store } = fixture
  await using owner = await startProcess(store)
  // The second process cannot commit anything itself.
  const append = (): Promise<never> => Promise.reject(new Error('the command was not forwarded'))
  await using other = await startProcess(withJournal(store, { append }))
  const merchant = merchantOf(owner, other)
  const codes = new Map<string, number | undefined>()
  for (const command of everyKindOf(merchant)) {
    const forwarded = await other.ledger.submit('test', command)
    expect(forwarded).toEqual(await owner.ledger.submit('test', command))
    if ('recorded' in forwarded) codes.set(command.id, forwarded.recorded.entry.refused_code)
  }
  // The repeat at the owner does not compare limits, so the decisions show that each of them was forwarded.
  const withdrawals = ['p', 'q', 'r', 's', 't', 'u']
  expect(withdrawals.map((id) => codes.get(id))).toEqual([undefined, 6006, 6005, 6035, 6035, undefined])
  const burst = Array.from({ length: 2_000 }, (_, index) => credit(`burst ${index}`, 1n, merchant))
  await Promise.all(burst.map((command) => other.ledger.submit('test', command)))
  expect(await other.ledger.accounts('test', merchant)).toEqual(await owner.ledger.accounts('test', merchant))
  expect(await verifyLedger(fixture.store)).toMatchObject({ problems: [] })
})

test('decides commands itself when the owner of the shard stops, and none twice', async () => {
  await using fixture = await openFixture()
  const { store } = fixture
  await using owner = await startProcess(store)
  await using other = await startProcess(store)
  const merchant = merchantOf(owner, other)
  const commands = Array.from({ length: 1_000 }, (_, index) => credit(`c${index}`, 1n, merchant))
  const burst = Promise.all(commands.map((command) => other.ledger.submit('test', command)))
  await owner.stop()
  await burst
  expect(await other.ledger.accounts('test', merchant)).toMatchObject([{ available: 1_000n }])
  await other.stop()
  expect(await verifyLedger(fixture.store)).toMatchObject({ problems: [], entries: 1_000n })
})

// B4
test('the owner of a shard that cannot read the archive keeps the shard: only what needs the archive waits', async () => {
  await using archive = await openArchiveFixture()
  await using owner = await startProcess(archive.store_without_archive)
  await using other = await startProcess(archive.store)
  const merchant = merchantOf(owner, other)
  const shard = shardOf(merchant, 'test')
  const earlier = createLedger(archive.store, trustedClock)
  for (const id of ['a', 'b', 'c']) await earlier.submit('test', credit(id, 1n, merchant))
  await earlier.stop()
  await checkpointAt(archive.store, shard)
  await archive.archiveBatches(shard, [1n, 2n])
  const repeated = other.ledger.submit('test', credit('a', 1n, merchant))
  await expect(repeated).rejects.toThrow(ArchiveUnavailable)
  expect(await other.ledger.submit('test', credit('d', 1n, merchant))).toMatchObject({
    recorded: { seq: 4n },
  })
  expect(owner.takeDecided()).toEqual(new Set([shard]))
  expect(other.takeDecided()).toEqual(new Set())
})

// R9
test('the owner of a shard with a newer batch forwards its commands, and tells the others', async () => {
  await using fixture = await openFixture()
  const newer_store = await openLedgerStore(fixture.opened, ledger_signer, NEXT_FORMATS)
  await using older = await startProcess(fixture.store)
  await using newer = await startProcess(newer_store)
  const merchant = merchantOf(older, newer)
  const shard = shardOf(merchant, 'test')
  const alone = createLedger(newer_store, trustedClock)
  const another = merchantOf(older, newer, shard)
  await alone.submit('test', credit('first', 1n, merchant))
  await alone.submit('test', credit('first', 1n, another))
  await alone.stop()
  await eventually(
    () => older.ledger.submit('test', credit('a', 1n, merchant)).catch(() => undefined),
    (result) => result !== undefined,
  )
  expect(older.ledger.limitations()).toEqual([`shard ${shard}: newer format`])
  // From now on the older process knows the newer one, so not even the first command of a shard fails.
  expect(await older.ledger.submit('test', credit('a', 1n, another))).toMatchObject({
    recorded: { seq: 2n },
  })
  await eventually(
    () => fixture.store.members.list(),
    (heartbeats) => heartbeats?.get(older.address)?.given_away.includes(shard) === true,
  )
  expect(await newer.ledger.submit('test', credit('b', 1n, merchant))).toMatchObject({
    recorded: { seq: 3n },
  })
  expect(await newer.ledger.accounts('test', merchant)).toMatchObject([{ available: 3n }])
  await newer.stop()
  await eventually(
    () => older.ledger.submit('test', credit('c', 1n, merchant)).catch((error: unknown) => error),
    (failure) => failure instanceof NewerBatchFormat,
  )
})
