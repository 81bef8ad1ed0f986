import { appendFile, mkdtemp, open, readdir, readFile, rm, truncate, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals'
import fc from 'fast-check'
import { archiveDocuments } from '#lib/store/archive/archive-documents.ts'
import { createArchiveReader } from '#lib/store/archive/archive-reader.ts'
import { withArchive } from '#lib/store/archive/archived-collections.ts'
import { type ArchivedSpec, signedTextOf } from '#lib/store/archive/archived-document.ts'
import { ArchiveUnavailable, Conflict, Duplicate } from '#lib/store/errors.ts'
import type { Collection, Stored } from '#lib/store/store.ts'
import { propertyRuns } from '../support/property-runs.ts'
import { failureOf, ITEMS, type Item, type StoreUnderTest } from './store.suite.ts'

/** Documents whose bodies are in files (docs/architecture/store.md). */
export function archiveSuite(subject: StoreUnderTest): void {
  describe('archived documents', () => {
    let directory: string
    beforeEach(async () => {
      directory = await mkdtemp(join(tmpdir(), 'multihub-archive-'))
    })
    afterEach(() => rm(directory, { recursive: true, force: true }))

    async function openArchived() {
      const spec: ArchivedSpec = {
        ...ITEMS,
        name: subject.name(),
        archive: { keeps: ['rank', 'code', 'tags', 'serials', 'due', 'state'] },
      }
      const stored = await subject.store().collection<Item>(spec)
      const openFrom = (from: string | undefined) =>
        withArchive(subject.store(), createArchiveReader(from)).collection<Item>(spec)
      const opened = () => openFrom(directory)
      return {
        spec,
        stored,
        opened,
        openFrom,
        archive: (items: readonly Stored<Item>[]) => archive(spec, stored, items),
      }
    }

    async function archive(spec: ArchivedSpec, collection: Collection<Item>, items: readonly Stored<Item>[]) {
      const target = { spec, collection, directory }
      let last = { archived: 0, left: 0 }
      for await (const count of archiveDocuments(target, listOf(items))) last = count
      return last
    }

    const fileNames = async (): Promise<readonly string[]> => (await readdir(directory)).sort()
    const pathOf = async (): Promise<string> => join(directory, (await fileNames())[0] ?? '')

    test('are whole for readers and stubs in the database', async () => {
      const { stored, opened, archive } = await openArchived()
      const item = await stored.insert({
        shop: 'a',
        id: 1,
        rank: 3,
        code: 'x',
        state: 'done',
        text: 'long',
        amount: 5n,
      })
      expect(await archive([item])).toMatchObject({ archived: 1, left: 0 })
      const stub = await stored.get({ shop: 'a', id: 1 })
      expect(Object.keys(stub ?? {}).sort()).toEqual([
        'archived',
        'code',
        'id',
        'rank',
        'shop',
        'state',
        'version',
      ])
      const items = await opened()
      const whole = { ...item, version: item.version + 1 }
      expect(await items.get({ shop: 'a', id: 1 }, { linearizable: true })).toEqual(whole)
      expect(await items.find('by_rank', { equals: ['a', 3] }, { limit: 10 })).toEqual([whole])
      expect(await items.get({ shop: 'a', id: 1 }, { without_body: true })).toEqual(stub)
      expect(await items.find('key', { equals: ['a'] }, { limit: 10, without_body: true })).toEqual([stub])
    })

    test('are signed with all that stays in the database, in whatever form the store keeps it', async () => {
      const { spec, stored, opened } = await openArchived()
      const item = await stored.insert({
        shop: 'a',
        id: 2n ** 62n,
        rank: 3,
        code: 'ä\n"',
        tags: ['x', 'y'],
        serials: [7n, 8n],
        due: { at: new Date(0), bytes: Buffer.from([0, 255]), share: 0.5, is_late: false, none: null },
        text: 'long',
      })
      const sign = (text: string): string => `signature of ${text}`
      for await (const _count of archiveDocuments(
        { spec, sign, collection: stored, directory },
        listOf([item]),
      ));
      const [stub] = await stored.find('key', { equals: ['a'] }, { limit: 1 })
      if (!stub) throw new Error('the stub is gone')
      const { text, signature } = signedTextOf(stub)
      expect(signature).toBe(sign(text))
      expect(signedTextOf(Object.fromEntries(Object.entries(stub).reverse())).text).toBe(text)
      for (const field of ['shop', 'id', 'rank', 'code', 'tags', 'serials', 'due'])
        expect(signedTextOf({ ...stub, [field]: 'another' }).text).not.toBe(text)
      const { archived } = stub
      const parts: readonly unknown[] = Array.isArray(archived) ? archived : []
      for (const at of parts.slice(0, -1).keys())
        expect(signedTextOf({ ...stub, archived: parts.with(at, 'another') }).text).not.toBe(text)
      expect(signedTextOf({ ...stub, more: 1 }).text).not.toBe(text)
      expect(await (await opened()).get({ shop: 'a', id: 2n ** 62n })).toMatchObject({ text: 'long' })
    })

    test('keep their identity: the same key and unique values are refused', async () => {
      const { stored, openFrom, archive } = await openArchived()
      await archive([await stored.insert({ shop: 'a', id: 1, code: 'x', serials: [7], text: 'long' })])
      const items = await openFrom(undefined)
      for (const twin of [{ id: 1 }, { id: 2, code: 'x' }, { id: 2, serials: [7, 8] }])
        expect(await failureOf(items.insert({ shop: 'a', ...twin }))).toBeInstanceOf(Duplicate)
    })

    test('are written whole when they change, and can be archived again', async () => {
      const { stored, opened, archive } = await openArchived()
      await archive([await stored.insert({ shop: 'a', id: 1, text: 'long' })])
      const items = await opened()
      const read = await items.get({ shop: 'a', id: 1 })
      if (!read) throw new Error('the document is gone')
      const changed = await items.replace({ ...read, state: 'again' }, read.version)
      expect(await stored.get({ shop: 'a', id: 1 })).toEqual(changed)
      expect(changed).toEqual({ shop: 'a', id: 1, text: 'long', state: 'again', version: read.version + 1 })
      expect(await failureOf(items.replace(read, read.version))).toBeInstanceOf(Conflict)
      await archive([changed])
      expect(await items.get({ shop: 'a', id: 1 })).toEqual({ ...changed, version: changed.version + 1 })
      expect(await fileNames()).toHaveLength(2)
    })

    test('what stayed in the stub and changed there counts', async () => {
      const { stored, opened, archive } = await openArchived()
      await archive([await stored.insert({ shop: 'a', id: 1, state: 'old', text: 'long' })])
      const stub = await stored.get({ shop: 'a', id: 1 })
      if (!stub) throw new Error('the stub is gone')
      await stored.replace({ ...stub, state: 'new' }, stub.version)
      expect(await (await opened()).get({ shop: 'a', id: 1 })).toMatchObject({ state: 'new', text: 'long' })
    })

    test('a document that changed before it was replaced is left whole, and a stub is skipped', async () => {
      const { stored, archive } = await openArchived()
      const first = await stored.insert({ shop: 'a', id: 1, text: 'old' })
      const second = await stored.insert({ shop: 'a', id: 2, text: 'old' })
      const changed = await stored.replace({ ...first, text: 'new' }, first.version)
      expect(await archive([first, second])).toMatchObject({ archived: 1, left: 1 })
      expect(await stored.get({ shop: 'a', id: 1 })).toEqual(changed)
      const stub = await stored.get({ shop: 'a', id: 2 })
      expect(await archive(stub ? [stub] : [])).toMatchObject({ archived: 0, left: 0 })
      expect(await fileNames()).toHaveLength(1)
    })

    test('a page takes one read per block, and the file is read again when the memory is full', async () => {
      const { spec, stored, archive } = await openArchived()
      const inserted = await Promise.all(
        Array.from({ length: 300 }, (_, id) => stored.insert({ shop: 'a', id, text: `text ${id}` })),
      )
      await archive(inserted)
      const read = (limits: Parameters<typeof createArchiveReader>[1]) =>
        withArchive(subject.store(), createArchiveReader(directory, limits)).collection<Item>(spec)
      const cached = await read({})
      const found = await cached.find('key', { equals: ['a'] }, { limit: 1_000 })
      expect(found.map(({ text }) => text)).toEqual(inserted.map(({ text }) => text))
      const uncached = await read({ cache_bytes: 0 })
      expect(await uncached.find('key', { equals: ['a'] }, { limit: 1_000 })).toEqual(found)
      await rm(await pathOf())
      expect(await cached.find('key', { equals: ['a'] }, { limit: 1_000 })).toEqual(found)
      expect(await failureOf(uncached.get({ shop: 'a', id: 0 }))).toBeInstanceOf(ArchiveUnavailable)
    })

    test('cannot be read without the directory or the file, and can be once it is back', async () => {
      const { stored, opened, openFrom, archive } = await openArchived()
      await archive([await stored.insert({ shop: 'a', id: 1, text: 'long' })])
      await stored.insert({ shop: 'a', id: 2, text: 'here' })
      const name = (await fileNames())[0] ?? ''
      const failure = await failureOf((await openFrom(undefined)).get({ shop: 'a', id: 1 }))
      expect(failure).toBeInstanceOf(ArchiveUnavailable)
      expect(failure).toHaveProperty(
        'message',
        `the archive file ${name} cannot be read: MULTIHUB_ARCHIVE names no directory`,
      )
      const bytes = await readFile(await pathOf())
      await rm(await pathOf())
      const items = await opened()
      expect(await failureOf(items.get({ shop: 'a', id: 1 }))).toHaveProperty(
        'message',
        expect.stringContaining('ENOENT'),
      )
      expect(await failureOf(items.find('key', { equals: ['a'] }, { limit: 9 }))).toBeInstanceOf(
        ArchiveUnavailable,
      )
      expect(await items.get({ shop: 'a', id: 2 })).toMatchObject({ text: 'here' })
      await writeFile(join(directory, name), bytes)
      expect(await items.get({ shop: 'a', id: 1 })).toMatchObject({ text: 'long' })
    })

    test('a stub with the place of another document, or with no place of an archive, shows nothing', async () => {
      const { stored, opened, archive } = await openArchived()
      await archive([await stored.insert({ shop: 'a', id: 1, text: 'of the first' })])
      const archived = (await stored.get({ shop: 'a', id: 1 }))?.['archived']
      const [run, offset, bytes, line, digest] = Array.isArray(archived) ? archived : []
      expect(digest).toHaveLength(32)
      await writeFile(join(directory, 'outside.jsonl.gz'), await readFile(await pathOf()))
      const places: readonly unknown[] = [
        [run, offset, bytes, line, digest],
        'a text',
        null,
        {},
        [],
        [run, offset, bytes, line, digest, 'signature', 'more'],
        ['../outside', offset, bytes, line, digest],
        [`${run}.jsonl.gz/../outside`, offset, bytes, line, digest],
        ['2026-11-29-0123456789ab', offset, bytes, line, digest],
        [['2026-11-29-0123456789ab'], offset, bytes, line, digest],
        [null, offset, bytes, line, digest],
        [run, -1, bytes, line, digest],
        [run, 2 ** 53, bytes, line, digest],
        [run, offset, 2 ** 40, line, digest],
        [run, offset, 1.5, line, digest],
        [run, offset, bytes, 5, digest],
        [run, offset, bytes, '0', digest],
        [run, offset, bytes, line, new Uint8Array(32)],
        [run, offset, bytes, line, 'text'],
      ]
      const items = await opened()
      for (const [id, place] of places.entries()) {
        await stored.insert({ shop: 'b', id, archived: place })
        expect(await failureOf(items.get({ shop: 'b', id }))).toBeInstanceOf(ArchiveUnavailable)
      }
    })

    // O24.4
    test('a stub shows no earlier content of its document, and no copy of the file outside of the directory', async () => {
      const { stored, opened, archive } = await openArchived()
      const first = await stored.insert({ shop: 'a', id: 1, text: 'old' })
      await archive([first])
      const placeOf = async (): Promise<readonly unknown[]> => {
        const archived = (await stored.get({ shop: 'a', id: 1 }))?.['archived']
        return Array.isArray(archived) ? archived : []
      }
      const [old_run, old_offset, old_bytes, old_line, old_digest] = await placeOf()
      const items = await opened()
      await archive([await items.replace({ ...first, text: 'new' }, first.version + 1)])
      const [run, offset, bytes, line, digest] = await placeOf()
      const outside = `${directory}-outside.jsonl.gz`
      await writeFile(
        outside,
        await readFile(join(directory, (await fileNames()).find((name) => name.includes(String(run))) ?? '')),
      )
      const read = async (place: readonly unknown[]) => {
        const stub = await stored.get({ shop: 'a', id: 1 })
        if (!stub) throw new Error('the stub is gone')
        await stored.replace({ ...stub, archived: place }, stub.version)
        return await items.get({ shop: 'a', id: 1 }).catch((error: unknown) => error)
      }
      expect(await read([old_run, old_offset, old_bytes, old_line, digest])).toBeInstanceOf(
        ArchiveUnavailable,
      )
      const path = `x/../../${basename(outside, '.jsonl.gz')}`
      expect(await read([path, offset, bytes, line, digest])).toBeInstanceOf(ArchiveUnavailable)
      expect(await read([old_run, old_offset, old_bytes, old_line, old_digest])).toMatchObject({
        text: 'old',
      })
      expect(await read([run, offset, bytes, line, digest])).toMatchObject({ text: 'new' })
      await rm(outside)
    })

    // O24.4
    test('any document comes back, and a damaged file gives no other content', async () => {
      const { stored, opened, archive } = await openArchived()
      let number = 0
      await fc.assert(
        fc.asyncProperty(
          fc.array(documents, { minLength: 1, maxLength: 5 }),
          fc.nat(),
          fc.nat(255),
          async (all, at, byte) => {
            number += 1
            const shop = `shop ${number}`
            for (const name of await fileNames()) await rm(join(directory, name))
            const inserted = await Promise.all(
              all.map((fields, id) => stored.insert({ ...fields, shop, id })),
            )
            // As they are stored: without `undefined`, and with the bytes of the database.
            const read = await stored.find('key', { equals: [shop] }, { limit: 10 })
            expect(await archive(read)).toMatchObject({ archived: inserted.length })
            const whole = read.map((item) => ({ ...item, version: item.version + 1 }))
            expect(await (await opened()).find('key', { equals: [shop] }, { limit: 10 })).toEqual(whole)
            await damage(await pathOf(), at, byte)
            const items = await opened()
            for (const [id, item] of whole.entries()) {
              const result = await items.get({ shop, id }).catch((error: unknown) => error)
              if (!(result instanceof ArchiveUnavailable)) expect(result).toEqual(item)
            }
          },
        ),
        { numRuns: propertyRuns(100) },
      )
    })
  })
}

async function* listOf<T>(items: readonly T[]): AsyncGenerator<T> {
  yield* items
}

/** Changes a byte, cuts the file off, or adds to it. */
async function damage(path: string, at: number, byte: number): Promise<void> {
  const { length } = await readFile(path)
  if (at % 7 === 0) return await truncate(path, at % length)
  if (at % 7 === 1) return await appendFile(path, Buffer.alloc(10, byte))
  const handle = await open(path, 'r+')
  await handle.write(Buffer.from([byte]), 0, 1, at % length)
  await handle.close()
}

const name = fc
  .stringMatching(/^[A-Za-z_][A-Za-z0-9_ -]{0,12}$/)
  .filter((text) => !['_bsontype', '_id', '__proto__'].includes(text))
const leaf = fc.oneof(
  fc.string({ unit: 'grapheme' }).map((text) => text.toWellFormed()),
  fc.double({ noNaN: true, noDefaultInfinity: true }),
  fc.integer(),
  fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }),
  fc.boolean(),
  fc.constant(null),
  fc.date({ noInvalidDate: true }),
  fc.uint8Array({ maxLength: 40 }),
)
const { value } = fc.letrec((tie) => ({
  value: fc.oneof(
    { maxDepth: 3 },
    leaf,
    fc.array(tie('value'), { maxLength: 4 }),
    fc.dictionary(name, tie('value'), { maxKeys: 4 }),
  ),
}))
/** The fields of any document, without the fields of its key and of the indexes. */
const documents = fc
  .dictionary(name, value, { maxKeys: 8 })
  .map((fields) =>
    Object.fromEntries(
      Object.entries(fields).filter(
        ([field]) => !/^(shop|id|rank|code|tags|serials|due|version|archived)$/.test(field),
      ),
    ),
  )
