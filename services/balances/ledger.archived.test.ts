import { readFile, writeFile } from 'node:fs/promises'
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals'
import { Unavailable } from '#lib/contract/errors/unavailable.ts'
import { isStub } from '#lib/store/archive/archived-document.ts'
import { ArchiveUnavailable } from '#lib/store/errors.ts'
import { type ArchiveFixture, checkpointAt, LATER, openArchiveFixture } from './archive.fixture.ts'
import { shardOf } from './domain/shard.ts'
import { credit, hold, ledger_signer, resolve } from './ledger.fixture.ts'
import { createDataCheck, operations } from './operations.ts'
import type { JournalDocument } from './store/journal.ts'
import { getVerification } from './use-cases/verification.ts'
import { verifyLedger, writeJournal } from './verification/verification.fixture.ts'

const SHARD = shardOf('1000', 'test')

let archive: ArchiveFixture
beforeEach(async () => {
  archive = await openArchiveFixture()
})
afterEach(() => archive[Symbol.asyncDispose]())

const failureOf = (work: Promise<unknown>): Promise<unknown> => work.catch((error: unknown) => error)

/** Six batches of one entry each: three credits, a hold and its capture, and one credit. They are verified, with a checkpoint. */
async function write(): Promise<void> {
  const ledger = archive.begin()
  for (const command of [
    credit('a', 100n),
    credit('b', 20n),
    credit('c', 3n),
    hold('h', 50n),
    resolve('capture', 'h'),
    credit('d', 4n),
  ])
    expect(await ledger.submit('test', command)).toHaveProperty('recorded')
  await checkpointAt(archive.store, SHARD)
  await verifyLedger(archive.store)
}

const statement = { environment: 'test', merchant_id: '1000', limit: 10 } as const

async function alterStub(
  seq: bigint,
  changes: Partial<JournalDocument> & { readonly archived?: unknown },
): Promise<void> {
  const stub = await archive.stored.get({ shard: SHARD, seq })
  if (stub === undefined) throw new Error('the batch is not stored')
  await archive.stored.replace({ ...stub, ...changes }, stub.version)
}

async function listOf<T>(items: AsyncIterable<T> | Iterable<T>): Promise<T[]> {
  const list: T[] = []
  for await (const item of items) list.push(item)
  return list
}

async function* readStored(): AsyncGenerator<JournalDocument> {
  yield* await archive.stored.find('key', { equals: [SHARD] }, { limit: 100 })
}

async function damageFiles(): Promise<void> {
  for (const file of await archive.files()) {
    const bytes = await readFile(file)
    // A byte of the first block, after the header of gzip.
    bytes[20] = (bytes[20] ?? 0) ^ 0xff
    await writeFile(file, bytes)
  }
}

describe('what is archived', () => {
  test('is what lies behind the checkpoint and the resume point; of a stub the lists and the proof stay', async () => {
    await write()
    expect(await archive.archive()).toBe(5)
    expect(await archive.archivedSequences(SHARD)).toEqual([1n, 2n, 3n, 4n, 5n])
    const stub = await archive.stored.get({ shard: SHARD, seq: 4n })
    expect(Object.keys(stub ?? {}).sort()).toEqual([
      'archived',
      'format',
      'hash',
      'ids',
      'previous_hash',
      'seq',
      'shard',
      'signature',
      'statements',
      'time',
      'version',
    ])
    expect(await archive.archive()).toBe(0)
  })

  test('is nothing without a checkpoint, without a verification, or of the newest batches', async () => {
    const ledger = archive.begin()
    for (const id of ['a', 'b', 'c']) await ledger.submit('test', credit(id, 1n))
    expect(await archive.archive()).toBe(0)
    await verifyLedger(archive.store)
    expect(await archive.archive()).toBe(0)
    await checkpointAt(archive.store, SHARD)
    expect(await archive.archive(3n)).toBe(0)
    expect(await archive.archive(1n)).toBe(2)
  })

  test('is nothing that is behind one of both only', async () => {
    await write()
    const ledger = archive.begin()
    for (const id of ['e', 'f']) await ledger.submit('test', credit(id, 1n))
    // Verified to batch 8, and a checkpoint at batch 6.
    await verifyLedger(archive.store)
    expect(await archive.archive()).toBe(5)
    for (const id of ['g', 'i']) await ledger.submit('test', credit(id, 1n))
    // Now the checkpoint is at batch 10.
    await checkpointAt(archive.store, SHARD)
    expect(await archive.archive()).toBe(2)
  })

  test('is what was decided before the date', async () => {
    await write()
    const third = await archive.store.journal.getBatch(SHARD, 3n)
    expect(await archive.archive(0n, new Date((third?.time.getTime() ?? 0) - 86_400_000))).toBe(0)
    expect(await archive.archive(0n, LATER)).toBe(5)
  })

  test('is nothing of a shard with an altered batch, or that is stopped', async () => {
    await write()
    const { token = '' } = (await archive.stored.get({ shard: SHARD, seq: 3n })) ?? {}
    await alterStub(3n, { token: 'another' })
    expect(await archive.archive()).toBe(0)
    await alterStub(3n, { token })
    await archive.fixture.store.stops.update(SHARD, () => ({
      shard: SHARD,
      seq: 3n,
      description: 'altered',
      verification_id: 'v',
      found_at: new Date(),
      stopped_since: new Date(),
      operation_ids: [],
    }))
    expect(await archive.archive()).toBe(0)
  })

  test('is whole after a run that ended between the file and the stubs, and archived by the next run', async () => {
    await write()
    await expect(archive.archiveWith(2)).rejects.toThrow('killed')
    expect(await archive.archivedSequences(SHARD)).toHaveLength(2)
    expect(await archive.begin().listEntries(statement)).toHaveLength(6)
    expect(await archive.archive()).toBe(3)
    expect(await verifyLedger(archive.store)).toMatchObject({ problems: [] })
  })

  test('comes back whole, under the same hash, and is archived again', async () => {
    await write()
    const before = await archive.stored.find('key', { equals: [SHARD] }, { limit: 10 })
    await archive.archive()
    const journal = await archive.whole()
    for (const { version, ...whole } of await journal.find('key', { equals: [SHARD] }, { limit: 10 }))
      await archive.stored.replace(whole, version)
    const withoutVersion = ({ version: _, ...document }: JournalDocument & { version: number }) => document
    const after = await archive.stored.find('key', { equals: [SHARD] }, { limit: 10 })
    expect(after.map(withoutVersion)).toEqual(before.map(withoutVersion))
    expect(await verifyLedger(archive.fixture.store)).toMatchObject({ problems: [] })
    expect(await archive.archive()).toBe(5)
  })

  test('once only by two runs at once, while the shard decides', async () => {
    await write()
    const ledger = archive.begin()
    const commands = Array.from({ length: 20 }, (_, number) =>
      ledger.submit('test', credit(`n${number}`, 1n)),
    )
    const [one, other] = await Promise.all([archive.archive(), archive.archive()])
    expect(one + other).toBe(5)
    for (const result of await Promise.all(commands)) expect(result).toHaveProperty('recorded')
    expect(await verifyLedger(archive.store)).toMatchObject({ problems: [] })
  })
})

describe('with the archive', () => {
  test('a ledger decides, answers repetitions, lists statements, and loads without a checkpoint', async () => {
    await write()
    const before = await archive.begin().listEntries(statement)
    await archive.archive()
    const ledger = archive.begin()
    expect(await ledger.submit('test', credit('a', 100n))).toMatchObject({ recorded: { seq: 1n } })
    expect(await ledger.submit('test', credit('a', 99n))).toEqual({ not_recorded: 'id_conflict' })
    expect(await ledger.submit('test', resolve('capture', 'h'))).toMatchObject({ recorded: { seq: 5n } })
    expect(await ledger.submit('test', credit('e', 1n))).toMatchObject({ recorded: { seq: 7n } })
    expect((await ledger.listEntries(statement)).slice(0, 6)).toEqual(before)
    expect(await ledger.getEntry('test', '1000', 'h')).toMatchObject({ seq: 4n })
    const { version = 0 } = (await archive.store.checkpoints.getHead(SHARD)) ?? {}
    await archive.store.checkpoints.deleteHead(SHARD, version)
    expect(await archive.begin().accounts('test', '1000')).toMatchObject([{ available: 78n, held: 0n }])
  })

  test('a verification from the first batch reads it, and the command verify too', async () => {
    await write()
    await archive.archive()
    expect(await verifyLedger(archive.store)).toEqual({ entries: 6n, problems: [] })
    const check = createDataCheck(archive.store, readStored as never, ledger_signer)
    expect(await listOf(check.findProblems?.() ?? [])).toEqual([])
    expect(await listOf(check.listRequirements?.() ?? [])).toMatchObject([
      { id: 'payment of h', claim: { entry_id: 'h' } },
      { id: 'payment of h', claim: { entry_id: 'h:resolve' } },
    ])
  })
})

describe('without the archive', () => {
  test('a repeated id is decided later, never anew, and the other commands of its batch are decided now', async () => {
    await write()
    await archive.archive()
    const ledger = archive.begin(archive.store_without_archive)
    const repeated = [credit('a', 100n), hold('h', 50n), resolve('capture', 'h'), resolve('release', 'h')]
    const [fresh, ...failures] = await Promise.all([
      ledger.submit('test', credit('new', 1n)),
      ...repeated.map((command) => failureOf(ledger.submit('test', command))),
    ])
    expect(fresh).toMatchObject({ recorded: { seq: 7n } })
    for (const command of repeated) failures.push(await failureOf(ledger.submit('test', command)))
    for (const failure of failures) expect(failure).toBeInstanceOf(ArchiveUnavailable)
    expect(await archive.store.journal.lastSequence(SHARD)).toBe(7n)
    expect(ledger.limitations()).toEqual([])
    expect(await archive.begin().submit('test', credit('a', 100n))).toMatchObject({ recorded: { seq: 1n } })
  })

  test('a shard is loaded from its checkpoint, and pages that need no archived batch are shown', async () => {
    await write()
    await archive.archive()
    const ledger = archive.begin(archive.store_without_archive)
    expect(await ledger.accounts('test', '1000')).toMatchObject([{ available: 77n }])
    expect(await ledger.listEntries({ ...statement, newest_first: true, limit: 1 })).toMatchObject([
      { seq: 6n },
    ])
    expect(await failureOf(ledger.listEntries(statement))).toBeInstanceOf(ArchiveUnavailable)
    expect(await failureOf(ledger.getEntry('test', '1000', 'a'))).toBeInstanceOf(ArchiveUnavailable)
  })

  // B4.6
  test('a list begins at the first batch after the archived ones, also by its time', async () => {
    // Each has a time of its own.
    await writeJournal(archive.store, 6)
    await checkpointAt(archive.store, SHARD)
    await verifyLedger(archive.store)
    expect(await archive.archive()).toBe(5)
    const ledger = archive.begin(archive.store_without_archive)
    const created_from = new Date(6)
    expect(await ledger.listEntries({ ...statement, created_from })).toMatchObject([{ seq: 6n }])
  })

  test('a shard without a checkpoint is not loaded, and not corrupt', async () => {
    await write()
    await archive.archive()
    const { version = 0 } = (await archive.store.checkpoints.getHead(SHARD)) ?? {}
    await archive.store.checkpoints.deleteHead(SHARD, version)
    const ledger = archive.begin(archive.store_without_archive)
    const failure = await failureOf(ledger.submit('test', credit('new', 1n)))
    expect(failure).toBeInstanceOf(Unavailable)
    expect(failure).toHaveProperty(
      'message',
      expect.stringMatching(/has no usable checkpoint: the archive file/),
    )
    expect(ledger.limitations()).toEqual([`shard ${SHARD}: no usable checkpoint`])
  })

  test('a verification from the first batch says so, stops nothing, and is repeated by the next one', async () => {
    await write()
    await archive.archive()
    const files = await archive.files()
    const { problems } = await verifyLedger(archive.store_without_archive)
    expect(problems).toEqual([
      `shard ${SHARD}, batch 1: the archive file ${nameOf(files[0])} cannot be read: MULTIHUB_ARCHIVE names no directory`,
    ])
    expect(await archive.store.stops.listStopped()).toEqual([])
    const { verification } = (await getVerification(archive.store.verifications)) ?? {}
    expect(verification?.full_verified_until).not.toEqual(verification?.started_at)
    expect(await archive.begin().submit('test', credit('new', 1n))).toHaveProperty('recorded')
    expect(await verifyLedger(archive.store)).toMatchObject({ problems: [] })
  })

  test('a verification that continues needs no archive', async () => {
    await write()
    await archive.archive()
    await archive.begin(archive.store_without_archive).submit('test', credit('new', 1n))
    expect(await verifyLedger(archive.store_without_archive, false)).toEqual({ entries: 7n, problems: [] })
  })

  test('verify names what it could not read, and still finds the entries that other roles need', async () => {
    await write()
    await archive.archive()
    const { opened } = archive.fixture
    const check = createDataCheck(archive.store_without_archive, readStored as never, ledger_signer)
    expect(await listOf(check.findProblems?.() ?? [])).toEqual([
      expect.stringMatching(new RegExp(`^shard ${SHARD}, batch 1: the archive file .* cannot be read`)),
    ])
    const unreadable: string[] = []
    const list = check.listRequirements?.({ onUnreadable: (reason) => void unreadable.push(reason) }) ?? []
    expect(await listOf(list)).toEqual([])
    expect(unreadable).toHaveLength((await listOf(readStored())).filter(isStub).length)
    expect(unreadable[0]).toMatch(/^the archive file .* cannot be read: MULTIHUB_ARCHIVE names no directory$/)
    const required = { merchant_id: '1000', environment: 'test', id: 'a' } as never
    expect(await check.find?.(required)).toBe('found')
    expect(await operations.weighRanges?.(opened, new Date(0))).toMatchObject({ weights: expect.any(Array) })
  })
})

describe('a damaged archive', () => {
  test('is not a corrupt shard: what needs it waits, and is served once the file is restored', async () => {
    await write()
    await archive.archive()
    await damageFiles()
    const ledger = archive.begin()
    expect(await failureOf(ledger.listEntries(statement))).toBeInstanceOf(ArchiveUnavailable)
    expect(await failureOf(ledger.submit('test', credit('a', 100n)))).toBeInstanceOf(ArchiveUnavailable)
    expect(ledger.limitations()).toEqual([])
    expect(await archive.store.stops.listStopped()).toEqual([])
    // The same change again takes it back.
    await damageFiles()
    expect(await ledger.submit('test', credit('a', 100n))).toMatchObject({ recorded: { seq: 1n } })
  })
})

test('a store that was opened without the wrapper calls no shard corrupt', async () => {
  await write()
  await archive.archive()
  expect(await failureOf(archive.fixture.store.journal.getBatch(SHARD, 1n))).toBeInstanceOf(
    ArchiveUnavailable,
  )
  expect(await archive.fixture.store.journal.getHash(SHARD, 1n)).toMatch(/^[0-9a-f]{64}$/)
})

function nameOf(path: string | undefined): string {
  return path?.split('/').at(-1) ?? ''
}
