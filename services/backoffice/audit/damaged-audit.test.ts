import { describe, expect, test } from '@jest/globals'
import { testKeys } from '#lib/base/crypto/keys.fixture.ts'
import type { Store } from '#lib/store/store.ts'
import { useLineWriter } from '#lib/telemetry/writer.ts'
import { intent, listAll, openAuditFixture } from './audit.fixture.ts'
import { type AuditBatch, indexedLists, sealBatch } from './domain/audit-chain.ts'
import { missingAuditHeads } from './store/audit-heads.ts'
import { AUDIT } from './store/audit-log.ts'

async function damageSecondBatch(store: Store, damage: (batch: AuditBatch) => object | undefined) {
  const documents = await store.collection<AuditBatch>(AUDIT)
  const key = { chain: 'audit', seq: 2n }
  const stored = await documents.get(key)
  if (stored === undefined) throw new Error('there is no batch 2')
  const { version, ...batch } = stored
  const changed = damage(batch)
  if (changed === undefined) await documents.delete(key, version)
  else await documents.replace(changed as AuditBatch, version)
}

/** A batch with another principal and the right hash: whoever writes to the database can compute it, and has no key. */
function forged(batch: AuditBatch): object {
  const records = batch.records.map((one) =>
    one.kind === 'intent' ? { ...one, principal_id: 'p2', principal_name: 'bob' } : one,
  )
  const before = { seq: batch.seq - 1n, time_ms: 0, hash: batch.previous_hash, key_id: '' }
  return {
    ...batch,
    ...sealBatch(before, batch.time.getTime(), records, batch.token),
    ...indexedLists(records),
  }
}

describe('a damaged audit trail', () => {
  test.each<[string, (batch: AuditBatch) => object | undefined]>([
    ['a changed record', (batch) => ({ ...batch, records: [{ ...batch.records[0], principal_id: 'p2' }] })],
    ['a changed time', (batch) => ({ ...batch, time: new Date(batch.time.getTime() - 1) })],
    ['a record without its fields', (batch) => ({ ...batch, records: [{ kind: 'intent' }] })],
    ['a list of the index that was emptied', (batch) => ({ ...batch, filter_keys: [] })],
    ['an id of a record in the index that was changed', (batch) => ({ ...batch, record_ids: ['x:intent'] })],
    ['a deleted batch', () => undefined],
  ])('is found, shown and continued: %s', async (_how, damage) => {
    await using fixture = await openAuditFixture()
    const { audit, store } = fixture
    for (let n = 0; n < 4; n += 1) await audit.begin(intent({ request_id: `r${n}` }))
    await damageSecondBatch(store, damage)
    expect((await audit.verify()).problems).not.toEqual([])
    const other = await fixture.open()
    const audit_id = await other.begin(intent())
    expect((await listAll(other))[0]).toMatchObject({ audit_id, is_damaged: false })
    const entries = await listAll(other)
    expect(entries.length).toBeGreaterThanOrEqual(4)
    expect((await other.verify()).entries).toBeGreaterThanOrEqual(4n)
  })

  // O9: no later batch has the hash of the last one, so only the signature shows that it was forged.
  test('a last batch that somebody without the keys has written is found and shown', async () => {
    await using fixture = await openAuditFixture()
    await fixture.audit.begin(intent())
    await fixture.audit.begin(intent())
    await damageSecondBatch(fixture.store, forged)
    expect((await fixture.audit.verify()).problems).toHaveLength(1)
    expect(await listAll(fixture.audit)).toMatchObject([
      { principal_name: 'bob', is_damaged: true },
      { is_damaged: false },
    ])
  })

  // O9
  test('a key that is not configured is one problem, with its id', async () => {
    await using fixture = await openAuditFixture()
    for (let n = 0; n < 3; n += 1) await fixture.audit.begin(intent({ request_id: `r${n}` }))
    const rotated = await fixture.open({ signer: testKeys('new', 'test').audit })
    await rotated.begin(intent())
    const expectProblem = async (id: string, seq: number, key_id: string) => {
      const { problems } = await (await fixture.open({ signer: testKeys(id).audit })).verify()
      expect(problems).toEqual([
        expect.stringContaining(`batch ${seq} of the audit trail was signed with the key ${key_id}, which`),
      ])
    }
    await expectProblem('new', 1, 'test')
    await expectProblem('test', 4, 'new')
    expect((await rotated.verify()).problems).toEqual([])
  })

  // O4: such as a batch of a copy of the database, which the same key has signed.
  test('a batch of another audit trail with the same key does not continue it', async () => {
    await using fixture = await openAuditFixture()
    await using other = await openAuditFixture()
    for (const { audit } of [fixture, other])
      for (let n = 0; n < 3; n += 1) await audit.begin(intent({ request_id: `r${n}` }))
    const foreign = await (await other.store.collection<AuditBatch>(AUDIT)).get({ chain: 'audit', seq: 2n })
    if (foreign === undefined) throw new Error('there is no batch 2')
    const { version: _version, ...batch } = foreign
    await damageSecondBatch(fixture.store, () => batch)
    expect((await fixture.audit.verify()).problems).toHaveLength(2)
  })

  test('an outcome without its intent is found', async () => {
    await using fixture = await openAuditFixture()
    await fixture.audit.end('none', { outcome: 'done' })
    expect((await fixture.audit.verify()).problems).toEqual([expect.stringContaining('without its intent')])
  })

  // O16: a refusal that was written over would make an act look as if it had never been done.
  test('an outcome that was changed marks its entry, in a list and by its id', async () => {
    await using fixture = await openAuditFixture()
    const { audit, store } = fixture
    const audit_id = await audit.begin(intent())
    await audit.end(audit_id, { outcome: 'done' })
    await damageSecondBatch(store, (batch) => ({
      ...batch,
      records: [{ ...batch.records[0], outcome: 'refused' }],
    }))
    const damaged = { audit_id, outcome: 'refused', is_damaged: true }
    expect(await listAll(audit)).toMatchObject([damaged])
    expect(await audit.get(audit_id)).toMatchObject(damaged)
  })

  test('a stranger cannot continue it, and the log shows a cut', async () => {
    await using fixture = await openAuditFixture()
    const { audit, log, store } = fixture
    const lines: string[] = []
    using _writer = useLineWriter({ write: (line) => void lines.push(line) })
    const exporting = await fixture.open()
    await exporting.begin(intent())
    await exporting.begin(intent())
    await exporting.stop()
    const head = await log.readHead()
    const missing = async (): Promise<string[]> => {
      const found: string[] = []
      const given = (async function* () {
        yield* lines
      })()
      for await (const problem of missingAuditHeads(log, testKeys().audit, given)) found.push(problem)
      return found
    }
    expect(await missing()).toEqual([])
    const documents = await store.collection<AuditBatch>(AUDIT)
    const last = await documents.get({ chain: 'audit', seq: head.seq })
    await documents.delete({ chain: 'audit', seq: head.seq }, last?.version ?? 0)
    expect(await audit.verify()).toEqual({ entries: 1n, problems: [] })
    expect(await missing()).toEqual([
      'batch 2 of the audit trail: the batch that the log has is missing; the journal was cut off or replaced',
    ])
    const stranger = await fixture.open({ signer: testKeys('stranger').audit })
    await stranger.begin(intent())
    expect((await audit.verify()).problems).toHaveLength(1)
  })
})

// O9
test('after a change of the key the first batch is signed with both, and old batches still verify', async () => {
  await using fixture = await openAuditFixture()
  await fixture.audit.begin(intent())
  const both = testKeys('next', 'test').audit
  const next = await fixture.open({ signer: both })
  await next.begin(intent())
  await next.begin(intent())
  const documents = await fixture.store.collection<AuditBatch & { readonly signatures: readonly string[] }>(
    AUDIT,
  )
  const counts: number[] = []
  for (const seq of [1n, 2n, 3n])
    counts.push((await documents.get({ chain: 'audit', seq }))?.signatures.length ?? 0)
  expect(counts).toEqual([1, 2, 1])
  expect(await next.verify()).toEqual({ entries: 3n, problems: [] })
})

// O9: a key that was stolen alone continues nothing
test('a batch of a new key without the signature of the one before is found', async () => {
  await using fixture = await openAuditFixture()
  await fixture.audit.begin(intent())
  const thief = await fixture.open({ signer: testKeys('next').audit })
  await thief.begin(intent())
  const both = await fixture.open({ signer: testKeys('next', 'test').audit })
  expect((await both.verify()).problems).toHaveLength(1)
})
