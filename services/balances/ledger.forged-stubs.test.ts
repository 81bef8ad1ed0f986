import { afterEach, beforeEach, expect, test } from '@jest/globals'
import { testKeys } from '#lib/base/crypto/keys.fixture.ts'
import type { Signer } from '#lib/base/crypto/signer.ts'
import type { ReadDocuments } from '#lib/role/operations.ts'
import { signedTextOf } from '#lib/store/archive/archived-document.ts'
import { ArchiveUnavailable } from '#lib/store/errors.ts'
import { trustedClock } from '../../test/support/clock-guard.ts'
import { type ArchiveFixture, checkpointAt, openArchiveFixture } from './archive.fixture.ts'
import { sealBatch } from './domain/hash-chain.ts'
import { shardOf } from './domain/shard.ts'
import { credit, ledger_signer } from './ledger.fixture.ts'
import { createLedger, type Ledger } from './ledger.ts'
import { createDataCheck } from './operations.ts'
import { signedHead, signStubsWith } from './store/journal.ts'
import { openLedgerStore } from './store/ledger-store.ts'
import { verifyLedger } from './verification/verification.fixture.ts'

// Somebody who can write the database replaces a batch by a stub (B4.8).

const SHARD = shardOf('1000', 'test')
const IDS = ['a', 'b', 'c', 'd']
const STRANGER = testKeys('stranger').journal

let archive: ArchiveFixture
const ledgers: Ledger[] = []

/** Four batches of one entry each, of which the first two are archived. */
beforeEach(async () => {
  archive = await openArchiveFixture()
  const ledger = begin()
  for (const id of IDS) await ledger.submit('test', credit(id, 1n))
  await checkpointAt(archive.store, SHARD)
  await verifyLedger(archive.store)
  expect(await archive.archive(2n)).toBe(2)
})
afterEach(async () => {
  for (const ledger of ledgers.splice(0)) await ledger.stop()
  await archive[Symbol.asyncDispose]()
})

/** A process that begins now. */
function begin(): Ledger {
  const ledger = createLedger(archive.store, trustedClock)
  ledgers.push(ledger)
  return ledger
}

async function problemsOfVerify(): Promise<readonly string[]> {
  const problems: string[] = []
  const check = createDataCheck(archive.store, (() => []) as unknown as ReadDocuments, ledger_signer)
  for await (const problem of check.findProblems?.() ?? []) problems.push(problem)
  return problems
}

/** Makes a place for a stub with the fields that stay of its batch. */
type PlaceOf = (kept: object) => unknown

/** Stores the stub of a batch, with changes. */
async function forge(seq: bigint, placeOf: PlaceOf, changes: object = { ids: ['forged'] }): Promise<void> {
  const stored = await archive.stored.get({ shard: SHARD, seq })
  if (stored === undefined) throw new Error('the batch is not stored')
  const { entries: _entries, token: _token, version, ...kept } = stored
  const stub = { ...kept, ...changes }
  await archive.stored.replace({ ...stub, archived: placeOf(stub) } as never, version)
}

/** The place of a true stub, as it is stored. */
async function placeAt(seq: bigint): Promise<readonly unknown[]> {
  const stub: object = (await archive.stored.get({ shard: SHARD, seq })) ?? {}
  if (!('archived' in stub) || !Array.isArray(stub.archived)) throw new Error('the batch is not archived')
  return stub.archived
}

/** A place in a file that is missing. */
const PLACE = ['2026-01-01-0123456789ab', 0, 100, 0, Buffer.alloc(32)]

function signedBy(signer: Pick<Signer, 'sign'>, place: readonly unknown[] = PLACE): PlaceOf {
  return (kept) => {
    const { text } = signedTextOf({ ...kept, archived: [...place, ''] })
    return [...place, signStubsWith(signer)(text)]
  }
}

test.each<[string, bigint, () => Promise<PlaceOf> | PlaceOf]>([
  ['a batch that is not archived, without a signature', 3n, () => () => PLACE],
  ['the last batch', 4n, () => () => PLACE],
  ['a place that no run wrote', 2n, () => () => ['forged']],
  ['no place', 2n, () => () => []],
  ['another value than a place', 2n, () => () => 'forged'],
  ['the signature of the batch', 3n, () => (kept) => [...PLACE, 'signature' in kept && kept.signature]],
  ['a signature of another key', 3n, () => signedBy(STRANGER)],
  [
    'a signature of another key under the name of ours',
    3n,
    () => signedBy({ sign: (text) => STRANGER.sign(text).replace('stranger', 'test') }),
  ],
  ['the signature of the true stub', 2n, () => placeAt(2n).then((place) => () => place)],
  ['the place and the signature of another stub', 2n, () => placeAt(1n).then((place) => () => place)],
  ['an unsigned place of a newer form', 2n, () => placeAt(2n).then((place) => () => [...place, 'newer'])],
])('a stub with other ids decides nothing, and its shard is stopped: %s', async (_what, seq, placeOf) => {
  await forge(seq, await placeOf())
  expect(await archive.store.journal.hasEntryId(SHARD, 'forged')).toBe(false)
  await expect(begin().submit('test', credit('forged', 1n))).rejects.toThrow('was not signed')
  const found = expect.stringContaining(`batch ${seq} was not signed with a key of the ledger`)
  expect(await problemsOfVerify()).toEqual([found])
  expect((await verifyLedger(archive.store)).problems).toEqual([found])
  const true_command = credit(IDS[Number(seq) - 1] ?? '', 1n)
  await expect(begin().submit('test', true_command)).rejects.toThrow(`shard ${SHARD} is stopped`)
  expect(await archive.archive()).toBe(0)
})

test('verify reports each batch that is not as it was written, and verifies the batches behind it', async () => {
  const ledger = begin()
  for (const id of ['e', 'f', 'g', 'h', 'i']) await ledger.submit('test', credit(id, 1n))
  await ledger.stop()
  await forge(2n, signedBy(STRANGER))
  await forge(4n, () => PLACE, {})
  for (const seq of [6n, 7n]) {
    const { version = 0 } = (await archive.stored.get({ shard: SHARD, seq })) ?? {}
    await archive.stored.delete({ shard: SHARD, seq }, version)
  }
  // Signed by the ledger, and of another chain.
  const last = await archive.stored.get({ shard: SHARD, seq: 9n })
  if (last === undefined) throw new Error('the batch is not stored')
  const { version, signature: _signature, ids, statements, hash: _hash, previous_hash: _, ...batch } = last
  const other = sealBatch(batch, 'f'.repeat(64), batch.entries, batch.token)
  const signature = ledger_signer.sign(signedHead(other))
  await archive.stored.replace({ ...other, ids, statements, signature }, version)
  expect(await problemsOfVerify()).toEqual([
    expect.stringContaining(`shard ${SHARD}, batch 2: shard ${SHARD}: batch 2 was not signed`),
    expect.stringContaining(`shard ${SHARD}, batch 4: shard ${SHARD}: batch 4 was not signed`),
    `shard ${SHARD}, batch 6: batches 6 to 7 are missing`,
    expect.stringContaining('batch 9 does not continue the hash chain'),
  ])
})

test('verify lists at most 20 problems of a shard, and says that there are more', async () => {
  const ledger = begin()
  for (let n = 0; n < 30; n += 1) await ledger.submit('test', credit(`n${n}`, 1n))
  await ledger.stop()
  for (let seq = 3n; seq <= 34n; seq += 1n) await forge(seq, () => PLACE, {})
  const problems = await problemsOfVerify()
  expect(problems).toHaveLength(21)
  expect(problems.at(-1)).toBe(`shard ${SHARD} has more problems, up to batch 34`)
})

// B4.7
test('a stub with other ids is found while the archive cannot be read, before its id is booked twice', async () => {
  await forge(2n, signedBy(STRANGER))
  const store = archive.store_without_archive
  expect((await verifyLedger(store)).problems).toEqual([
    expect.stringContaining('batch 1: the archive file'),
    expect.stringContaining('batch 2 was not signed with a key of the ledger'),
  ])
  await expect(archive.begin(store).submit('test', credit('b', 1n))).rejects.toThrow(
    `shard ${SHARD} is stopped`,
  )
})

test.each<[string, object, typeof PLACE?]>([
  ['its time', { time: new Date(0) }],
  ['the batch before it', { previous_hash: 'another' }],
  ['its statements', { statements: [] }],
  ['its hash', { hash: 'f'.repeat(64) }],
  ['its signature', { signature: 'k.00' }],
  ['its format', { format: 3 }],
  ['a field more', { token: 'another' }],
  ['its place', {}, PLACE],
])(
  'a stub is an altered batch, with and without the archive: %s',
  async (_what, changes, ...[other_place]) => {
    const place = await placeAt(2n)
    await forge(2n, () => (other_place ? [...other_place, place.at(-1)] : place), changes)
    for (const { journal } of [archive.store, archive.store_without_archive, archive.fixture.store])
      for (const read of [
        () => journal.getBatch(SHARD, 2n),
        () => journal.getHash(SHARD, 2n),
        () => journal.listBatches(SHARD, 2n, 1),
        () => journal.listDocuments(SHARD, 2n, 1),
      ])
        await expect(read()).rejects.toThrow('was not signed with a key of the ledger')
    expect((await verifyLedger(archive.store)).problems).toHaveLength(1)
    expect(await archive.store.stops.listStopped()).toMatchObject([{ shard: SHARD, seq: 2n }])
  },
)

test.each<[string, Date, (time: Date) => object]>([
  ['from its time', new Date(0), (created_from) => ({ created_from })],
  // A later batch would be the last one before it.
  ['to a time', new Date('2099-01-02'), () => ({ created_to: new Date('2099-01-01') })],
])('a time that was altered hides no batch from a list %s', async (_what, altered, boundsAt) => {
  const { time = new Date() } = (await archive.stored.get({ shard: SHARD, seq: 2n })) ?? {}
  const place = await placeAt(2n)
  await forge(2n, () => place, { time: altered })
  const query = { environment: 'test', merchant_id: '1000', limit: 10, ...boundsAt(time) } as const
  await expect(begin().listEntries(query)).rejects.toThrow('was not signed')
})

test('a signed stub with a place of a newer form makes no shard corrupt, and stops none', async () => {
  const place = await placeAt(2n)
  await forge(2n, signedBy(ledger_signer, [...place.slice(0, -1), 'newer']), {})
  await expect(archive.store.journal.getBatch(SHARD, 2n)).rejects.toThrow(ArchiveUnavailable)
  expect((await verifyLedger(archive.store)).problems).toEqual([
    expect.stringContaining('the stub names no place in an archive'),
  ])
  expect(await archive.store.stops.listStopped()).toEqual([])
})

test('a part more in the place of a stub is not signed', async () => {
  const place = await placeAt(2n)
  await forge(2n, () => [...place.slice(0, -1), 'newer', place.at(-1)], {})
  await expect(archive.store.journal.getBatch(SHARD, 2n)).rejects.toThrow('was not signed')
})

test('a restore leaves out archived batches by their time only if it was not altered', async () => {
  const journal = { shard: SHARD, seq: 2n }
  const unreadableSince = async (archived_since: Date): Promise<number> => {
    const readStored = () => archive.stored.find('key', { equals: [SHARD] }, { limit: 10 })
    const check = createDataCheck(
      archive.store_without_archive,
      async function* () {
        yield* await readStored()
      } as unknown as ReadDocuments,
      ledger_signer,
    )
    let unreadable = 0
    const onUnreadable = (): void => {
      unreadable += 1
    }
    for await (const _ of check.listRequirements?.({ onUnreadable, archived_since }) ?? []);
    return unreadable
  }
  const { time = new Date() } = (await archive.stored.get(journal)) ?? {}
  expect(await unreadableSince(new Date(0))).toBe(2)
  expect(await unreadableSince(new Date(time.getTime() + 1))).toBe(0)
  const place = await placeAt(2n)
  await forge(2n, () => place, { time: new Date(0) })
  expect(await unreadableSince(new Date(time.getTime() + 1))).toBe(1)
})

// O9.3
test('a stub of an earlier key is read while the key is known', async () => {
  const openWith = (...ids: readonly string[]) =>
    openLedgerStore(archive.wholeFrom(archive.directory), testKeys('new', ...ids).journal)
  expect(await verifyLedger(await openWith('test'))).toEqual({ entries: 4n, problems: [] })
  await expect((await openWith()).journal.getHash(SHARD, 1n)).rejects.toThrow(
    'not signed with a key of the ledger (test)',
  )
})
