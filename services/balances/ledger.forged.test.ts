import { expect, test } from '@jest/globals'
import { testKeys } from '#lib/base/crypto/keys.fixture.ts'
import type { ReadDocuments } from '#lib/role/operations.ts'
import type { Store } from '#lib/store/store.ts'
import { createLog } from '#lib/telemetry/log.ts'
import { trustedClock } from '../../test/support/clock-guard.ts'
import { saveCheckpoint } from './checkpoints/checkpoint.ts'
import type { Batch } from './domain/entry.ts'
import { sealBatch } from './domain/hash-chain.ts'
import { shardOf } from './domain/shard.ts'
import { applyNext, createShardState } from './domain/shard-state.ts'
import { credit, ledger_signer, openFixture } from './ledger.fixture.ts'
import { createLedger } from './ledger.ts'
import { createDataCheck } from './operations.ts'
import { withExportedHeads } from './store/exported-heads.ts'
import { JOURNAL, type Journal } from './store/journal.ts'
import { type LedgerStore, openLedgerStore } from './store/ledger-store.ts'
import { verifyLedger } from './verification/verification.fixture.ts'

const SHARD = shardOf('1000', 'test')
const ALTERED = 1_000_000n
const STRANGER = testKeys('stranger').journal

/** The journal of two credits in which the first one was larger, with all hashes computed again. */
function rewritten(batches: readonly Batch[]): readonly Batch[] {
  const chain: Batch[] = []
  for (const { shard, seq, time, token, entries } of batches) {
    const changed = entries.map((entry) => ({
      ...entry,
      amount: seq === 1n ? ALTERED : entry.amount,
      available: seq === 1n ? ALTERED : ALTERED + entry.amount,
    }))
    chain.push(sealBatch({ shard, seq, time }, chain.at(-1)?.hash ?? '', changed, token))
  }
  return chain
}

/** Does what somebody who can write the database can: replaces documents of the journal, with signatures of any kind. */
async function replaceJournal(
  database: Store,
  batches: readonly Batch[],
  signatureOf: (batch: Batch, before: string) => string,
): Promise<void> {
  const documents = await database.collection<Batch & { readonly signature: string }>(JOURNAL)
  for (const batch of batches) {
    const { shard, seq } = batch
    const stored = await documents.get({ shard, seq })
    if (stored === undefined) throw new Error('the batch is not stored')
    const { version, ...before } = stored
    await documents.replace({ ...before, ...batch, signature: signatureOf(batch, before.signature) }, version)
  }
}

async function problemsOf(store: LedgerStore): Promise<readonly string[]> {
  const problems: string[] = []
  const check = createDataCheck(store, (() => []) as unknown as ReadDocuments, ledger_signer)
  for await (const problem of check.findProblems?.() ?? []) problems.push(problem)
  return problems
}

async function missingOf(store: LedgerStore, lines: readonly string[]): Promise<readonly string[]> {
  const check = createDataCheck(store, (() => []) as unknown as ReadDocuments, ledger_signer)
  const given = (async function* () {
    yield* lines
  })()
  const problems: string[] = []
  for await (const problem of check.compareWithLog?.(given) ?? []) problems.push(problem)
  return problems
}

// O9
test.each<[string, (batch: Batch, before: string) => string]>([
  ['the former signatures', (_batch, before) => before],
  ['signatures of another key', ({ shard, seq, hash }) => STRANGER.sign(`journal ${shard} ${seq} ${hash}`)],
  [
    'signatures of another key under the name of ours',
    ({ shard, seq, hash }) => STRANGER.sign(`journal ${shard} ${seq} ${hash}`).replace('stranger', 'test'),
  ],
  ['no signatures', () => ''],
])('a chain that was computed again is found, and decides nothing: %s', async (_what, signatureOf) => {
  await using fixture = await openFixture()
  const { store, opened, ledger } = fixture
  await ledger.submit('test', credit('a', 100n))
  await ledger.submit('test', credit('b', 1n))
  expect(await problemsOf(store)).toEqual([])
  await replaceJournal(opened, rewritten(await store.journal.listBatches(SHARD, 1n, 10)), signatureOf)

  const found = expect.stringContaining('was not signed with a key of the ledger')
  expect(await problemsOf(store)).toEqual([found, found])
  const restarted = createLedger(store, trustedClock)
  await expect(restarted.accounts('test', '1000')).rejects.toThrow('was not signed with a key of the ledger')
  await expect(restarted.submit('test', credit('c', 1n))).rejects.toThrow()
  await restarted.stop()
  expect((await verifyLedger(store)).problems).toEqual([found])
  const stopped = createLedger(store, trustedClock)
  await expect(stopped.submit('test', credit('c', 1n))).rejects.toThrow(`shard ${SHARD} is stopped`)
  await stopped.stop()
})

// O9
test('a checkpoint that somebody else made is not used, whatever its digest', async () => {
  await using fixture = await openFixture()
  const { store, opened, ledger } = fixture
  await ledger.submit('test', credit('a', 100n))
  const state = createShardState({ shard: SHARD })
  for (const batch of await store.journal.listBatches(SHARD, 1n, 10)) applyNext(state, batch)
  const { accounts, ...others } = state.snapshot()
  const forged = createShardState({
    ...others,
    accounts: accounts.map((one) => ({ ...one, available: ALTERED, clearing: -ALTERED })),
  })
  const strange = await openLedgerStore(opened, STRANGER)
  await saveCheckpoint(strange.checkpoints, forged, (await store.checkpoints.getHead(SHARD))?.version)
  expect(await problemsOf(store)).toEqual([
    expect.stringContaining('was not signed with a key of the ledger'),
  ])
  const restarted = createLedger(store, trustedClock)
  const [account] = await restarted.accounts('test', '1000')
  expect(account?.available).toBe(100n)
  await restarted.stop()
})

// O9
test('the heads are in the log once a minute, and show a journal that was cut off', async () => {
  await using fixture = await openFixture()
  const { store, opened } = fixture
  const lines: string[] = []
  const log = createLog('balances', { level: 'info', writer: { write: (line) => void lines.push(line) } })
  const heads = withExportedHeads(store.journal, ledger_signer, log)
  const ledger = createLedger({ ...store, journal: heads.journal }, trustedClock)
  await ledger.submit('test', credit('a', 100n))
  await ledger.submit('test', credit('b', 1n))
  await ledger.stop()
  heads.stop()
  const [exported] = lines.filter((line) => line.includes('head of the ledger'))
  expect(JSON.parse(exported ?? '')).toMatchObject({ role: 'balances', shard: SHARD, seq: '2' })
  const with_prefix = lines.map((line) => `2026-11-24T10:00:00.0Z stdout F ${line}`)
  expect(await missingOf(store, ['no JSON: head of the ledger', ...with_prefix])).toEqual([])
  expect(await missingOf(store, ['no JSON: head of the ledger'])).toEqual([
    expect.stringContaining('nothing was compared'),
  ])
  const forged_line = exported?.replace('"seq":"2"', '"seq":"1"') ?? ''
  expect(await missingOf(store, [forged_line])).toEqual([
    expect.stringContaining('no key of the ledger has signed'),
  ])

  const documents = await opened.collection<Batch>(JOURNAL)
  const last = await documents.get({ shard: SHARD, seq: 2n })
  await documents.delete({ shard: SHARD, seq: 2n }, last?.version ?? 0)
  // What is left is a journal that the ledger has signed.
  const before = await problemsOf(store)
  expect(before.filter((problem) => !problem.includes('checkpoint'))).toEqual([])
  expect(await missingOf(store, lines)).toEqual([
    `shard ${SHARD}, batch 2: the batch that the log has is missing; the journal was cut off or replaced`,
  ])
})

// O9: the batch counts for the merchant, so an outsider must be able to miss it.
test('a head whose commit had an unclear result is in the log too', async () => {
  await using fixture = await openFixture()
  const { store } = fixture
  const lines: string[] = []
  const log = createLog('balances', { level: 'info', writer: { write: (line) => void lines.push(line) } })
  const append: Journal['append'] = async (batch) => {
    await store.journal.append(batch)
    return 'unknown'
  }
  const heads = withExportedHeads({ ...store.journal, append }, ledger_signer, log)
  const ledger = createLedger({ ...store, journal: heads.journal }, trustedClock)
  await ledger.submit('test', credit('a', 100n))
  await ledger.stop()
  heads.stop()
  const exported = lines.filter((line) => line.includes('head of the ledger')).map((line) => JSON.parse(line))
  expect(exported).toMatchObject([{ shard: SHARD, seq: '1' }])
})
