import { expect, test } from '@jest/globals'
import { trustedClock } from '../../test/support/clock-guard.ts'
import { adjustmentId, settlementId } from './domain/command.ts'
import type { Batch, Entry } from './domain/entry.ts'
import { EMPTY_JOURNAL, sealBatch } from './domain/hash-chain.ts'
import { shardOf } from './domain/shard.ts'
import { ledger_signer, openFixture, settle } from './ledger.fixture.ts'
import { createLedger } from './ledger.ts'
import { JOURNAL, signedHead } from './store/journal.ts'
import { readStatement } from './use-cases/statement.fixture.ts'
import { verifyLedger } from './verification/verification.fixture.ts'

const SHARD = shardOf('1000', 'test')
const FORMAT = 1

const account = { merchant_id: '1000', currency: 'INR', held: 0n } as const
const opening: Entry = {
  ...account,
  id: adjustmentId('1000', 'opening'),
  kind: 'adjustment',
  debit: 'adjustments',
  credit: 'available',
  amount: 100n,
  reason: 'opening',
  available: 100n,
}
const deposit: Entry = {
  ...account,
  id: 'a',
  kind: 'transfer',
  debit: 'clearing',
  credit: 'available',
  amount: 5n,
  payment_id: 'p',
  reason: 'deposit',
  available: 105n,
}
const settlement: Entry = {
  ...account,
  id: settlementId('1000', 'month'),
  kind: 'settlement',
  debit: 'available',
  credit: 'clearing',
  amount: 0n,
  reason: 'month end',
  available: 105n,
  period: 1,
}
/** What the code before format 2 decided. */
const ENTRIES = [opening, deposit, settlement]

/** The statements that the code before format 2 indexed. */
function formerStatements({ merchant_id, currency, payment_id }: Entry): string[] {
  const of_payment = payment_id === undefined ? [] : [`${merchant_id}\n${payment_id}`]
  return [merchant_id, `${merchant_id}\n\n${currency}`, ...of_payment]
}

/** A ledger whose journal was written, one batch per entry, by the code before format 2; `added` is what was added since. */
async function openFormer(added: readonly string[] = []) {
  const fixture = await openFixture()
  const documents = await fixture.opened.collection<Batch & { readonly signature: string }>(JOURNAL)
  let { hash } = EMPTY_JOURNAL
  for (const [index, entry] of ENTRIES.entries()) {
    const position = { shard: SHARD, seq: BigInt(index + 1), time: new Date(1_000) }
    const batch = sealBatch(position, hash, [entry], `token ${index}`, FORMAT)
    const lists = { ids: [entry.id], statements: [...formerStatements(entry), ...added] }
    await documents.insert({ ...batch, ...lists, signature: ledger_signer.sign(signedHead(batch)) })
    hash = batch.hash
  }
  return fixture
}

test('a journal of the code before format 2 is read, verified and continued', async () => {
  await using fixture = await openFormer()
  const { ledger, store } = fixture
  expect(await ledger.accounts('test', '1000')).toMatchObject([{ available: 105n, period: 1 }])
  const audit_id = 'act'
  const next = settlementId('1000', 'next')
  expect(await ledger.submit('test', { ...settle('next'), audit_id })).toMatchObject({
    recorded: { seq: 4n, entry: { id: next, period: 2, audit_id } },
  })
  expect(await store.journal.getBatch(SHARD, 4n)).toMatchObject({ format: 2, entries: [{ audit_id }] })
  expect(await verifyLedger(store)).toEqual({ entries: 4n, problems: [] })

  const restarted = createLedger(store, trustedClock)
  expect(await restarted.accounts('test', '1000')).toMatchObject([{ available: 105n, period: 2 }])
  const all = { environment: 'test', merchant_id: '1000', limit: 2 } as const
  const ids = ENTRIES.map(({ id }) => id)
  expect(await readStatement(restarted, all)).toEqual([...ids, next])
  expect(await readStatement(restarted, { ...all, currency: 'INR' })).toEqual([...ids, next])
  expect(await readStatement(restarted, { ...all, payment_id: 'p' })).toEqual(['a'])
  // What a list by kind misses: entries of format 1 are in no list of a kind.
  expect(await readStatement(restarted, { ...all, kind: 'settlement' })).toEqual([next])
  await restarted.stop()
})

test('a batch of format 1 is corrupt with a statement of a kind, which its code did not write', async () => {
  await using fixture = await openFormer(['1000\n\n\nadjustment', '1000\n\nINR\nadjustment'])
  await expect(fixture.ledger.accounts('test', '1000')).rejects.toThrow('indexed lists of batch 1')
})
