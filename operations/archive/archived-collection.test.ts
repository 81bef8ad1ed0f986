import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from '@jest/globals'
import { testKeys } from '#lib/base/crypto/keys.fixture.ts'
import { now } from '#lib/base/time.ts'
import { Unavailable } from '#lib/contract/errors/unavailable.ts'
import type { ReadDocuments } from '#lib/role/operations.ts'
import { ARCHIVE_FILES, type ArchiveFileRecord } from '#lib/store/archive/archive-files.ts'
import { type ArchivedSpec, isStub } from '#lib/store/archive/archived-document.ts'
import { Ambiguous } from '#lib/store/errors.ts'
import type { Collection, CollectionSpec, Store, Stored } from '#lib/store/store.ts'
import { openTestStore, type TestStore } from '../../test/support/store.ts'
import {
  type ArchiveSubject,
  archiveCollection,
  checkStubs,
  forgetFiles,
  isOfKilledRun,
  restoreStubs,
} from './archived-collection.ts'

interface Item {
  readonly id: string
  readonly text: string
}

const ITEMS: ArchivedSpec = { name: 'items', partition: ['id'], key: ['id'], archive: { keeps: [] } }

let directory: string
let opened: TestStore
let items: Collection<Item>
let files: Collection<ArchiveFileRecord>
let lines: string[]
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'multihub-archive-'))
  opened = await openTestStore()
  items = await opened.store.collection<Item>(ITEMS)
  files = await opened.store.collection<ArchiveFileRecord>(ARCHIVE_FILES)
  lines = []
  await items.insert({ id: 'a', text: 'body' })
})
afterEach(async () => {
  await opened[Symbol.asyncDispose]()
  await rm(directory, { recursive: true, force: true })
})

const listItems = () => items.find('key', { equals: ['a'] }, { limit: 10 })
const listRecords = () => files.find('key', { equals: ['items'] }, { limit: 10 })

function subjectOn(store: Store): ArchiveSubject {
  return {
    role: { name: 'payments' },
    archivable: {
      spec: ITEMS,
      async *list() {
        yield* await listItems()
      },
    },
    store,
    directory,
    output: { printLine: (line) => void lines.push(line), printProgress() {} },
  }
}

const archive = (): Promise<void> =>
  archiveCollection({ ...subjectOn(opened.store), before: now(), keys: testKeys() })

/** Reads the documents as they are now, whatever happens until they are read. */
async function takeSnapshot(): Promise<ReadDocuments> {
  const contents = new Map<string, readonly Stored<object>[]>([
    [ITEMS.name, await listItems()],
    [ARCHIVE_FILES.name, await listRecords()],
  ])
  return async function* readDocuments<D extends object>({ name }: CollectionSpec) {
    yield* (contents.get(name) ?? []) as readonly D[]
  }
}

/** Restores what is archived now, and forgets the files that are not needed. */
async function restore(subject = subjectOn(opened.store)): Promise<number> {
  const problems = await restoreStubs(subject, await takeSnapshot())
  if (problems === 0) await forgetFiles(subject, await takeSnapshot())
  return problems
}

test('a write without an answer of the database is not called a change', async () => {
  const silent: Store = {
    ...opened.store,
    async collection<D extends object>(spec: CollectionSpec) {
      const collection = await opened.store.collection<D>(spec)
      const replace = () => Promise.reject(new Ambiguous('no answer'))
      return spec.name === ITEMS.name ? { ...collection, replace } : collection
    },
  }
  await archiveCollection({ ...subjectOn(silent), before: now(), keys: testKeys() })
  expect(lines.at(-1)).toBe(
    'payments: 1 documents of items were left: they changed meanwhile, are too large, or the database did not say whether they were archived',
  )
})

test('what is restored needs no file, and the record of the file is deleted', async () => {
  await archive()
  expect(await restore()).toBe(0)
  expect([await listItems(), await listRecords()]).toMatchObject([[{ id: 'a', text: 'body' }], []])
})

test('a run beside a restore keeps the record of its file', async () => {
  const before = await takeSnapshot()
  await archive()
  expect(await restoreStubs(subjectOn(opened.store), before)).toBe(0)
  await forgetFiles(subjectOn(opened.store), before)
  await forgetFiles(subjectOn(opened.store), await takeSnapshot())
  expect((await listItems()).every(isStub)).toBe(true)
  expect(await listRecords()).toHaveLength(1)
})

test('a run that ends between its first stub and its end has stored the record of its file', async () => {
  const killed: Store = {
    ...opened.store,
    async collection<D extends object>(spec: CollectionSpec) {
      const collection = await opened.store.collection<D>(spec)
      const replace: typeof collection.replace = async (...parameters) => {
        await collection.replace(...parameters)
        throw new Error('killed')
      }
      return spec.name === ITEMS.name ? { ...collection, replace } : collection
    },
  }
  const run = archiveCollection({ ...subjectOn(killed), before: now(), keys: testKeys() })
  await expect(run).rejects.toThrow('killed')
  expect((await listItems()).every(isStub)).toBe(true)
  expect(await listRecords()).toEqual([expect.not.objectContaining({ ended_at: expect.anything() })])
})

test('a document that was written whole meanwhile is not restored again', async () => {
  await archive()
  const before = await takeSnapshot()
  const [stub] = await listItems()
  if (!stub) throw new Error('the document is gone')
  const whole = await items.replace({ id: 'a', text: 'newer' }, stub.version)
  expect(await restoreStubs(subjectOn(opened.store), before)).toBe(0)
  expect(await listItems()).toEqual([whole])
  expect(lines).toContain('payments: 0 documents of items were restored, 0 unreadable')
})

test('a store that is down ends a restore, and is not taken for a file that cannot be read', async () => {
  await archive()
  const down: Store = {
    ...opened.store,
    async collection<D extends object>(spec: CollectionSpec) {
      const get = () => Promise.reject(new Unavailable('the store is down'))
      return { ...(await opened.store.collection<D>(spec)), get }
    },
  }
  await expect(restoreStubs(subjectOn(down), await takeSnapshot())).rejects.toThrow('the store is down')
})

test('two restores at once delete the record once', async () => {
  await archive()
  const subject = subjectOn(opened.store)
  expect(await restoreStubs(subject, await takeSnapshot())).toBe(0)
  const restored = await takeSnapshot()
  await forgetFiles(subject, restored)
  await forgetFiles(subject, restored)
  expect(await listRecords()).toEqual([])
})

test('the record of a run that has not ended stays, and is named', async () => {
  const record = { collection: 'items', file: 'items-2026-01-01-000000000000.jsonl.gz', began_at: now() }
  await files.insert(record)
  expect(await restore()).toBe(0)
  expect(await listRecords()).toHaveLength(1)
  expect(lines).toContain(
    `payments: keep ${record.file}: its run has not ended, or was killed within the last day`,
  )
})

test('a day later the record of a killed run is deleted, or has ended if stubs name its file', async () => {
  await archive()
  const [named] = await listRecords()
  if (!named) throw new Error('there is no record')
  const { ended_at: _, ...unended } = named
  const began_at = new Date(now().getTime() - 86_400_001)
  await files.replace({ ...unended, began_at }, named.version)
  await files.insert({ collection: 'items', file: 'items-2026-01-01-000000000000.jsonl.gz', began_at })
  await forgetFiles(subjectOn(opened.store), await takeSnapshot())
  expect(await listRecords()).toEqual([
    expect.objectContaining({ file: named.file, ended_at: expect.any(Date) }),
  ])
  expect((await listRecords()).some(isOfKilledRun)).toBe(false)
})

test('a document that changes while it is restored is a problem, and no record is deleted', async () => {
  await archive()
  const changing: Store = {
    ...opened.store,
    async collection<D extends object>(spec: CollectionSpec) {
      const collection = await opened.store.collection<D>(spec)
      return {
        ...collection,
        async get(...parameters: Parameters<Collection<D>['get']>) {
          const stored = await collection.get(...parameters)
          if (stored !== undefined) await collection.replace(stored, stored.version)
          return stored
        },
      }
    },
  }
  expect(await restore(subjectOn(changing))).toBe(1)
  expect(lines).toContain('PROBLEM  payments: 1 documents of items changed meanwhile: repeat the command')
  expect(await listRecords()).toHaveLength(1)
  expect(await restore()).toBe(0)
  expect(await listRecords()).toHaveLength(0)
})

test('a check finds stubs of a file without a record, also of a file that is away', async () => {
  await archive()
  const [record] = await listRecords()
  if (!record) throw new Error('there is no record')
  const check = async (from: string | undefined): Promise<number> =>
    await checkStubs({ ...subjectOn(opened.store), directory: from }, await takeSnapshot())
  expect(await check(directory)).toBe(0)
  await files.delete({ collection: 'items', file: record.file }, record.version)
  expect(await check(directory)).toBe(1)
  expect(lines).toContain(`PROBLEM  payments: documents of items need ${record.file}, which has no record`)
  expect(await check(undefined)).toBe(2)
})

test('a check misses no record of a run that began meanwhile', async () => {
  const before = await takeSnapshot()
  await archive()
  const after = await takeSnapshot()
  let readings = 0
  const readDocuments: ReadDocuments = (spec) => {
    if (spec.name === ITEMS.name) return after(spec)
    readings += 1
    return readings === 1 ? before(spec) : after(spec)
  }
  expect(await checkStubs(subjectOn(opened.store), readDocuments)).toBe(0)
})
