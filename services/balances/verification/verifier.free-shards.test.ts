import { expect, test } from '@jest/globals'
import { sealBatch } from '../domain/hash-chain.ts'
import { SHARDS, shardOf } from '../domain/shard.ts'
import { isShardDone } from '../domain/verification.ts'
import { ledger_signer, NEXT_FORMATS, openFixture } from '../ledger.fixture.ts'
import { type LedgerStore, openLedgerStore } from '../store/ledger-store.ts'
import { startVerification } from '../use-cases/verification.ts'
import { createPace } from './replay-journal.ts'
import { journalOf, withReads, writeJournal } from './verification.fixture.ts'
import { type FreeShardsDeps, verifyFreeShards } from './verifier.ts'

const SHARD = shardOf('1000', 'test')

function depsOf(store: LedgerStore): FreeShardsDeps {
  const { signal } = new AbortController()
  const pace = createPace(0, signal)
  return { store, signal, pace, holder: 'test', unreadable: new Set(), onStopChanged: async () => {} }
}

// R9
test('a batch of a newer format keeps a process from its shard only, which it tries once', async () => {
  await using fixture = await openFixture()
  const newer = await openLedgerStore(fixture.opened, ledger_signer, NEXT_FORMATS)
  const [batch] = journalOf(1)
  if (batch === undefined) throw new Error('the test has no batch')
  await newer.journal.append(sealBatch(batch, '', batch.entries, batch.token, NEXT_FORMATS.written))
  const others = ['1001', '1002', '1003']
  for (const merchant_id of others) await writeJournal(newer, 3, merchant_id)
  const { verification } = await startVerification(fixture.store.verifications, true)

  let reads = 0
  const store = withReads(fixture.store, (shard) => {
    if (shard === SHARD) reads += 1
  })
  const older = depsOf(store)
  expect(await verifyFreeShards(older, verification)).toBe('some_done')
  const documents = await store.verifications.listShards()
  const done = [...documents.values()].filter((one) => isShardDone(verification.verification_id, one))
  expect(done).toHaveLength(SHARDS - 1)
  const reads_before = reads
  expect(await verifyFreeShards(older, verification)).toBe('none_free')
  expect(reads).toBe(reads_before)

  expect(await verifyFreeShards(depsOf(newer), verification)).toBe('some_done')
  expect(await verifyFreeShards(older, verification)).toBe('finished')
})
