import { expect, test } from '@jest/globals'
import { trustedClock } from '../../../test/support/clock-guard.ts'
import { eventually } from '../../../test/support/eventually.ts'
import { type BalancesProcess, startProcess } from '../balances-process.fixture.ts'
import { NewerBatchFormat } from '../domain/batch-format.ts'
import { adjustmentId, type Command } from '../domain/command.ts'
import { shardOf } from '../domain/shard.ts'
import { credit, hold, openFixture, resolve } from '../ledger.fixture.ts'
import { createLedger } from '../ledger.ts'
import { openLedgerStore } from '../store/ledger-store.ts'
import { verifyLedger } from '../verification/verification.fixture.ts'
import { rankAddresses } from './shard-placement.ts'

/** A merchant whose shard one of two processes owns. */
function merchantOf(owner: BalancesProcess, other: BalancesProcess): string {
  const addresses = [owner.address, other.address]
  for (let number = 0; ; number += 1) {
    const [first] = rankAddresses(shardOf(`m${number}`, 'test'), addresses)
    if (first === owner.address) return `m${number}`
  }
}

function everyKindOf(merchant: string): readonly Command[] {
  return [
    credit('a', 100n, merchant),
    { ...credit('b', 9_007_199_254_740_993n, merchant), payment_id: 'p' },
    hold('h', 40n, merchant),
    resolve('capture', 'h', merchant),
    hold('i', 2n ** 62n, merchant),
    hold('j', 10n, merchant),
    resolve('release', 'j', merchant),
    resolve('release', 'none', merchant),
    hold('none', 1n, merchant),
    resolve('capture', 'absent', merchant),
    { ...credit('a', 101n, merchant) },
    credit('too much', 2n ** 63n - 1n, merchant),
    {
      kind: 'adjustment',
      id: adjustmentId(merchant, 'op'),
      merchant_id: merchant,
      operation_id: 'op',
      currency: 'INR',
      amount: -3n,
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
  await using other = await startProcess({ ...store, journal: { ...store.journal, append } })
  const merchant = merchantOf(owner, other)
  for (const command of everyKindOf(merchant)) {
    const forwarded = await other.ledger.submit('test', command)
    expect(forwarded).toEqual(await owner.ledger.submit('test', command))
  }
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

test('forwards the commands of a shard with a newer batch to the next owner, which asks the first one in vain', async () => {
  await using fixture = await openFixture()
  const newer_store = await openLedgerStore(fixture.opened, { written: 2, read_max: 2 })
  await using older = await startProcess(fixture.store)
  await using newer = await startProcess(newer_store)
  const merchant = merchantOf(older, newer)
  const shard = shardOf(merchant, 'test')
  const alone = createLedger(newer_store, trustedClock)
  await alone.submit('test', credit('first', 1n, merchant))
  await alone.stop()
  await expect(older.ledger.submit('test', credit('a', 1n, merchant))).rejects.toBeInstanceOf(
    NewerBatchFormat,
  )
  await eventually(
    () => older.ledger.submit('test', credit('a', 1n, merchant)).catch(() => undefined),
    (result) => result !== undefined,
  )
  expect(await newer.ledger.submit('test', credit('b', 1n, merchant))).toMatchObject({
    recorded: { seq: 3n },
  })
  expect(older.ledger.limitations()).toEqual([`shard ${shard}: newer format`])
  expect(await newer.ledger.accounts('test', merchant)).toMatchObject([{ available: 3n }])
})
