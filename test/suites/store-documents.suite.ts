import { describe, expect, test } from '@jest/globals'
import { Conflict } from '#lib/store/errors.ts'
import { failureOf, ITEMS, type StoreUnderTest } from './store.suite.ts'

const INT64_MIN = -(2n ** 63n)
const INT64_MAX = 2n ** 63n - 1n

/** Reads and writes of single documents: types, refused values, versions and unique indexes. */
export function documentsSuite(subject: StoreUnderTest): void {
  describe('documents', () => {
    test('keep the types of their values', async () => {
      const items = await subject.collection()
      const document = {
        shop: 'a',
        id: 1,
        small: 5n,
        bounds: [INT64_MIN, INT64_MAX, 0n, -1n],
        numbers: [0, -1, 1.5, 2 ** 31, -(2 ** 40), 2 ** 53, 1e300],
        instants: [
          new Date(0),
          new Date(-1),
          new Date(8.64e15),
          new Date(-8.64e15),
          new Date(1_700_000_000_123),
        ],
        bytes: new Uint8Array([0, 255, 1]),
        texts: ['', 'a\u0000b', 'ü€𝄞', 'x'.repeat(5_000)],
        nothing: null,
        truth: [true, false],
        deep: { a: { b: [{ c: 1n, d: [] }, {}] } },
        unknown_to_this_release: { kept: 'yes' },
      }
      const { version } = await items.insert(document)
      const found = await items.get({ shop: 'a', id: 1 })
      expect(plain(found)).toEqual(plain({ ...document, version }))
    })

    test('omit undefined fields, at any depth', async () => {
      const items = await subject.collection()
      await items.insert({
        shop: 'a',
        id: 1,
        gone: undefined,
        deep: { gone: undefined, list: [{ gone: undefined }] },
      })
      const found = await items.get({ shop: 'a', id: 1 })
      expect(Object.keys(found ?? {}).sort()).toEqual(['deep', 'id', 'shop', 'version'])
      expect(found?.['deep']).toEqual({ list: [{}] })
      expect(Object.keys(found?.['deep'] as object)).toEqual(['list'])
    })

    test('can have a size of one megabyte', async () => {
      const items = await subject.collection()
      const large = { shop: 'a', id: 1, text: 'x'.repeat(500_000), bytes: new Uint8Array(500_000).fill(7) }
      const { version } = await items.insert(large)
      await items.replace({ ...large, more: 'y' }, version)
      const replaced = { ...large, more: 'y', version: version + 1 }
      expect(plain(await items.get({ shop: 'a', id: 1 }))).toEqual(plain(replaced))
      await items.delete({ shop: 'a', id: 1 }, replaced.version)
      expect(await items.get({ shop: 'a', id: 1 })).toBeUndefined()
    })

    test('can have 64 levels', async () => {
      const items = await subject.collection()
      // The document itself is the first level.
      const deepest = { shop: 'a', id: 1, objects: objects(63), lists: lists(63) }
      await items.insert(deepest)
      expect(await items.get({ shop: 'a', id: 1 })).toMatchObject(deepest)
    })

    test.each<[string, unknown]>([
      ['an integer above 64 bits', INT64_MAX + 1n],
      ['an integer below 64 bits', INT64_MIN - 1n],
      ['an integer that wraps to a small one', 2n ** 64n + 5n],
      ['a nested integer above 64 bits', { list: [{ value: 2n ** 63n }] }],
      ['NaN', Number.NaN],
      ['infinity', Number.NEGATIVE_INFINITY],
      ['an invalid date', new Date(Number.NaN)],
      ['half of a surrogate pair', '\ud800'],
      ['a function', () => 1],
      ['an object of a class', new Map()],
      ['undefined in an array', [undefined]],
      ['a field named with $', { $inc: 1 }],
      ['a field named with a dot', { 'a.b': 1 }],
      ['a field named with NUL', { 'a\u0000': 1 }],
      ['a field named __proto__', JSON.parse('{"__proto__": 1}')],
      ['a field that BSON takes for a type', { _bsontype: 'Long' }],
      ['more levels than fit', objects(64)],
      ['more levels of lists than fit', lists(64)],
      ['more levels than a stack holds', objects(100_000)],
      ['more bytes than fit', 'x'.repeat(9 * 1024 * 1024)],
      ['a key that is too long in an index', 'ignored'],
    ])('are refused with %s, and nothing is written', async (title, value) => {
      const items = await subject.collection()
      const document = title.includes('index')
        ? { shop: 'a', id: 1, code: 'c', rank: 1, tags: ['x', 'y'.repeat(3_000)] }
        : { shop: 'a', id: 1, code: 'c', rank: 1, value }
      expect(await failureOf(items.insert(document))).toBeInstanceOf(TypeError)
      expect(await items.get({ shop: 'a', id: 1 })).toBeUndefined()
      expect(await items.find('by_rank', { equals: ['a'] }, { limit: 10 })).toEqual([])
      await items.insert({ shop: 'a', id: 2, code: 'c' })
    })

    test('are refused with a missing, an invalid or a too long key', async () => {
      const items = await subject.collection()
      for (const id of [undefined, null, true, 1.5, 'x'.repeat(2_500), '\udc00', Number.NaN]) {
        await expect(items.insert({ shop: 'a', id: id as string })).rejects.toBeInstanceOf(TypeError)
      }
      await expect(items.get({ shop: 'a' })).rejects.toBeInstanceOf(TypeError)
      await expect(items.get({ shop: 'a', id: 1, other: 2 })).rejects.toBeInstanceOf(TypeError)
      await expect(items.insert({ shop: 'a', id: 1, _id: 'mine' })).rejects.toBeInstanceOf(TypeError)
      const longest = 'x'.repeat(1_900)
      await items.insert({ shop: 'a', id: longest })
      expect(await items.get({ shop: 'a', id: longest })).toMatchObject({ id: longest })
    })

    test('are distinguished by their key, for all characters and types', async () => {
      const items = await subject.collection()
      const keys = [
        '1',
        1,
        'a',
        'a ',
        ' a',
        'a b',
        'A',
        'ä',
        '',
        '!',
        '"',
        '\u0000',
        '\u0000\u0000',
        new Date(1),
        -1,
      ]
      for (const [at, id] of keys.entries()) await items.insert({ shop: 'a', id, at })
      for (const [at, id] of keys.entries())
        expect(await items.get({ shop: 'a', id })).toMatchObject({ id, at })
      await items.insert({ shop: 'a b', id: 'c' })
      await items.insert({ shop: 'a', id: 'b c' })
      await expect(items.insert({ shop: 'a', id: 1n })).rejects.toMatchObject({
        name: 'Duplicate',
        index: 'key',
      })
    })

    test('are refused as a duplicate that names the index', async () => {
      const items = await subject.collection()
      await items.insert({ shop: 'a', id: 1, code: 'c', serials: [1, 2] })
      await items.insert({ shop: 'b', id: 1, code: 'c', serials: [1, 2] })
      const second = { shop: 'a', id: 2 }
      expect(await failureOf(items.insert({ shop: 'a', id: 1 }))).toMatchObject({
        name: 'Duplicate',
        index: 'key',
      })
      expect(await failureOf(items.insert({ ...second, code: 'c' }))).toMatchObject({ index: 'by_code' })
      expect(await failureOf(items.insert({ ...second, serials: [3, 2] }))).toMatchObject({
        index: 'by_serial',
      })
      const { version } = await items.insert(second)
      await items.insert({ shop: 'a', id: 3 })
      expect(await failureOf(items.replace({ ...second, code: 'c' }, version))).toMatchObject({
        index: 'by_code',
      })
      expect(await items.get(second)).toEqual({ ...second, version })
      await items.replace({ ...second, code: null, serials: [3, 3, 4] }, version)
      expect(await failureOf(items.insert({ shop: 'a', id: 4, code: null }))).toMatchObject({
        index: 'by_code',
      })
      await expect(items.insert({ shop: 'a', id: 4, serials: [] })).rejects.toBeInstanceOf(TypeError)
    })

    test('free their unique values when they are replaced or deleted', async () => {
      const items = await subject.collection()
      const { version } = await items.insert({ shop: 'a', id: 1, code: 'c', serials: [1, 2] })
      await items.replace({ shop: 'a', id: 1, code: 'd', serials: [2, 3] }, version)
      await items.insert({ shop: 'a', id: 2, code: 'c', serials: [1] })
      expect(await failureOf(items.insert({ shop: 'a', id: 3, code: 'd' }))).toMatchObject({
        index: 'by_code',
      })
      await items.delete({ shop: 'a', id: 1 }, version + 1)
      await items.insert({ shop: 'a', id: 3, code: 'd', serials: [2, 3] })
    })

    test('a duplicate in a later index leaves no entry in an earlier one', async () => {
      const items = await subject.collection()
      await items.insert({ shop: 'a', id: 1, serials: [9] })
      const half = { shop: 'a', id: 2, rank: 5, code: 'c', tags: ['t'], serials: [8, 9] }
      expect(await failureOf(items.insert(half))).toMatchObject({ index: 'by_serial' })
      for (const [index, equals] of [
        ['by_rank', ['a', 5]],
        ['by_code', ['a', 'c']],
        ['by_tag', ['a', 't']],
      ] as const) {
        expect(await items.find(index, { equals }, { limit: 10 })).toEqual([])
      }
      await items.insert({ shop: 'a', id: 3, code: 'c', serials: [8] })
    })

    test('are replaced and deleted only at the version that was read', async () => {
      const items = await subject.collection()
      const key = { shop: 'a', id: 1 }
      await expect(items.replace(key, 1)).rejects.toBeInstanceOf(Conflict)
      const first = await items.insert({ ...key, state: 'new' })
      const second = await items.replace({ ...first, state: 'paid' }, first.version)
      expect(second).toEqual({ ...key, state: 'paid', version: first.version + 1 })
      await expect(items.replace({ ...first, state: 'lost' }, first.version)).rejects.toBeInstanceOf(Conflict)
      await expect(items.delete(key, first.version)).rejects.toBeInstanceOf(Conflict)
      expect(await items.get(key)).toEqual(second)
      await items.delete(key, second.version)
      await expect(items.delete(key, second.version)).rejects.toBeInstanceOf(Conflict)
      await expect(items.replace(key, 0)).rejects.toBeInstanceOf(TypeError)
    })

    test('are not replaced or deleted at a version of a deleted document with the same key', async () => {
      const items = await subject.collection()
      const key = { shop: 'a', id: 1 }
      const versions = new Set<number>()
      for (let life = 0; life < 20; life += 1) {
        const { version } = await items.insert({ ...key, life })
        for (const earlier of versions) {
          await expect(items.replace({ ...key, late: true }, earlier)).rejects.toBeInstanceOf(Conflict)
          await expect(items.delete(key, earlier)).rejects.toBeInstanceOf(Conflict)
        }
        const replaced = await items.replace({ ...key, life, paid: true }, version)
        expect(await items.get(key)).toEqual(replaced)
        await items.delete(key, replaced.version)
        for (const ended of [version, replaced.version]) versions.add(ended)
      }
      expect(versions.size).toBe(40)
    })

    test('lose no update of 64 concurrent writers', async () => {
      const items = await subject.collection()
      const key = { shop: 'a', id: 1 }
      const { version } = await items.insert({ ...key, count: 0, rank: 0 })
      const addOne = async (): Promise<void> => {
        while (true) {
          const found = await items.get(key)
          if (found === undefined) throw new Error('the document is gone')
          const count = Number(found['count']) + 1
          const outcome = await items
            .replace({ ...found, count, rank: count }, found.version)
            .catch((error) => error)
          if (!(outcome instanceof Conflict)) return
        }
      }
      await Promise.all(Array.from({ length: 64 }, () => addOne()))
      expect(await items.get(key)).toMatchObject({ count: 64, version: version + 64 })
      const ranked = await items.find('by_rank', { equals: ['a'] }, { limit: 10 })
      expect(ranked.map((item) => item['rank'])).toEqual([64])
    })

    test('are inserted once by concurrent inserts of one key or of one unique value', async () => {
      const items = await subject.collection()
      const outcomes = await Promise.allSettled([
        ...Array.from({ length: 16 }, (_, at) => items.insert({ shop: 'a', id: 1, at })),
        ...Array.from({ length: 16 }, (_, at) => items.insert({ shop: 'b', id: at, code: 'c' })),
      ])
      const won = outcomes.map(({ status }) => status === 'fulfilled')
      expect([won.slice(0, 16), won.slice(16)].map((half) => half.filter(Boolean).length)).toEqual([1, 1])
      for (const outcome of outcomes) {
        if (outcome.status === 'rejected') expect(outcome.reason).toMatchObject({ name: 'Duplicate' })
      }
    })

    test('keep a unique value unique under 8 concurrent replacements, of which one succeeds', async () => {
      const items = await subject.collection()
      for (let round = 0; round < 5; round += 1) {
        const shop = `shop ${round}`
        const before = await Promise.all(Array.from({ length: 8 }, (_, id) => items.insert({ shop, id })))
        const outcomes = await Promise.allSettled(
          before.map(({ id, version }) => items.replace({ shop, id, code: 'c' }, version)),
        )
        const lost = outcomes.flatMap((outcome) => (outcome.status === 'rejected' ? [outcome.reason] : []))
        expect(lost).toHaveLength(7)
        for (const reason of lost) expect(reason).toMatchObject({ name: 'Duplicate', index: 'by_code' })
        const after = await Promise.all(before.map(({ id }) => items.get({ shop, id })))
        const winner = outcomes.findIndex(({ status }) => status === 'fulfilled')
        const replaced = { shop, id: winner, code: 'c', version: Number(before[winner]?.version) + 1 }
        expect(after).toEqual(before.with(winner, replaced))
      }
    })

    test.each<[string, object]>([
      ['a key that does not begin with the partition', { key: ['id', 'shop'] }],
      ['no partition', { partition: [] }],
      [
        'a unique index that does not begin with the partition',
        { indexes: { i: { fields: ['x'], unique: true, across_partitions: true } } },
      ],
      [
        'a unique index over a part of the partition',
        { partition: ['shop', 'id'], indexes: { i: { fields: ['shop', 'x'], unique: true } } },
      ],
      ['an index that does not begin with the partition', { indexes: { i: { fields: ['x'] } } }],
      ['an index named like the key', { indexes: { key: { fields: ['shop'] } } }],
      ['a dotted key', { key: ['shop', 'a.b'] }],
      ['an index over the version', { indexes: { i: { fields: ['shop', 'version'] } } }],
      ['an invalid name', { name: 'a.b' }],
    ])('a collection is refused with %s', async (_, wrong) => {
      await expect(
        subject.store().collection({ ...ITEMS, name: subject.name(), ...wrong }),
      ).rejects.toBeInstanceOf(TypeError)
    })
  })
}

/** Converts bytes to arrays, because one store returns `Buffer`. */
function plain(value: unknown): unknown {
  if (value instanceof Uint8Array) return [...value]
  if (Array.isArray(value)) return value.map(plain)
  if (typeof value !== 'object' || value === null || value instanceof Date) return value
  return Object.fromEntries(Object.entries(value).map(([field, inner]) => [field, plain(inner)]))
}

function objects(levels: number): unknown {
  let value: unknown = 1
  for (let level = 0; level < levels; level += 1) value = { next: value }
  return value
}

function lists(levels: number): unknown {
  let value: unknown = 1
  for (let level = 0; level < levels; level += 1) value = [value]
  return value
}
