import { describe, expect, test } from '@jest/globals'
import type { Collection, Range, Stored } from '#lib/store/store.ts'
import { ITEMS, type Item, type StoreUnderTest } from './store.suite.ts'

/** Reads of an index: bounds, order and pages. */
export function findSuite(subject: StoreUnderTest): void {
  describe('find', () => {
    test('sorts numbers of all types, within the bounds of the range', async () => {
      const items = await subject.collection()
      const ranks = [
        -(2n ** 63n),
        -1_000,
        -999n,
        -10,
        -9,
        -1,
        0,
        1n,
        9,
        10,
        11n,
        99,
        100,
        2 ** 40,
        2n ** 63n - 1n,
      ]
      for (const rank of shuffled(ranks)) await items.insert({ shop: 'a', id: String(rank), rank })
      await items.insert({ shop: 'b', id: 'other', rank: 5 })
      const ids = async (range: Range): Promise<unknown[]> =>
        idsOf(await items.find('by_rank', range, { limit: 100 }))
      expect(await ids({ equals: ['a'] })).toEqual(ranks.map(String))
      expect(await ids({ equals: ['a'], from: -10, to: 10n })).toEqual(['-10', '-9', '-1', '0', '1', '9'])
      expect(await ids({ equals: ['a'], from: 100 })).toEqual([
        '100',
        String(2 ** 40),
        String(2n ** 63n - 1n),
      ])
      expect(await ids({ equals: ['a'], to: -999 })).toEqual([String(-(2n ** 63n)), '-1000'])
      expect(await ids({ equals: ['a', 11] })).toEqual(['11'])
      expect(await ids({ equals: ['a'], from: 10, to: 10 })).toEqual([])
      expect(await ids({ equals: ['a'], from: 10, to: 9 })).toEqual([])
    })

    test('sorts strings by code point and dates by time', async () => {
      const items = await subject.collection()
      const texts = [
        '',
        '\u0000',
        '\u0000a',
        ' ',
        '!',
        '"',
        '#',
        '0',
        'A',
        'a',
        'a ',
        'a!',
        'aa',
        'b',
        '~',
        'é',
        '\uffee',
        '𝄞',
      ]
      for (const id of shuffled(texts)) await items.insert({ shop: 'a', id })
      expect(idsOf(await items.find('key', { equals: ['a'] }, { limit: 100 }))).toEqual(texts)
      expect(idsOf(await items.find('key', { equals: ['a'], from: 'a', to: 'b' }, { limit: 100 }))).toEqual([
        'a',
        'a ',
        'a!',
        'aa',
      ])
      const instants = [-8.64e15, -1, 0, 1, 999, 1_000, 1_700_000_000_000, 8.64e15].map(
        (time_ms) => new Date(time_ms),
      )
      for (const at of shuffled(instants)) await items.insert({ shop: 'b', id: at, due: { at } })
      await items.insert({ shop: 'b', id: 'never' })
      const due = await items.find('by_due', { to: new Date(1_000) }, { limit: 100 })
      expect(idsOf(due)).toEqual(instants.slice(0, 5))
      expect(idsOf(await items.find('by_due', {}, { limit: 100, reverse: true }))).toEqual(
        instants.toReversed(),
      )
    })

    test('limits a range to values of the type of its bounds', async () => {
      const items = await subject.collection()
      const ids = ['text', 5, new Date(5)]
      for (const id of ids) await items.insert({ shop: 'a', id, rank: id })
      for (const [at, id] of ids.entries()) {
        expect(idsOf(await items.find('key', { equals: ['a'], from: id }, { limit: 10 }))).toEqual([ids[at]])
        expect(idsOf(await items.find('by_rank', { equals: ['a'], from: id }, { limit: 10 }))).toEqual([
          ids[at],
        ])
      }
      await expect(
        items.find('key', { equals: ['a'], from: 1, to: 'b' }, { limit: 10 }),
      ).rejects.toBeInstanceOf(TypeError)
    })

    test('pages through ties and absent values in both directions', async () => {
      const items = await subject.collection()
      const ranks = [undefined, null, 1, 1, 1, 2, 2, 3, undefined, 2, 1, null]
      for (const [id, rank] of ranks.entries()) await items.insert({ shop: 'a', id, rank })
      const whole = idsOf(await items.find('by_rank', { equals: ['a'] }, { limit: 100 }))
      expect(whole).toEqual([0, 1, 8, 11, 2, 3, 4, 10, 5, 6, 9, 7])
      for (const limit of [1, 2, 3, 5, 12]) {
        expect(await pages(items, 'by_rank', { equals: ['a'] }, limit, false)).toEqual(whole)
        expect(await pages(items, 'by_rank', { equals: ['a'] }, limit, true)).toEqual(whole.toReversed())
        expect(await pages(items, 'by_rank', { equals: ['a'], from: 1, to: 3 }, limit, false)).toEqual(
          whole.slice(4, 11),
        )
        expect(await pages(items, 'by_rank', { equals: ['a', 1] }, limit, true)).toEqual([10, 4, 3, 2])
        expect(await pages(items, 'key', { equals: ['a'], from: 3, to: 9 }, limit, true)).toEqual([
          8, 7, 6, 5, 4, 3,
        ])
      }
    })

    test('pages through unique and multikey indexes', async () => {
      const items = await subject.collection()
      for (let id = 0; id < 7; id += 1) {
        await items.insert({ shop: 'a', id, code: `c${6 - id}`, tags: ['all', `t${id % 2}`, `t${id % 2}`] })
      }
      await items.insert({ shop: 'a', id: 7, tags: [] })
      await items.insert({ shop: 'a', id: 8 })
      expect(await pages(items, 'by_code', { equals: ['a'] }, 2, false)).toEqual([6, 5, 4, 3, 2, 1, 0])
      expect(await pages(items, 'by_code', { equals: ['a'], from: 'c2' }, 2, true)).toEqual([0, 1, 2, 3, 4])
      expect(await pages(items, 'by_tag', { equals: ['a', 'all'] }, 3, false)).toEqual([0, 1, 2, 3, 4, 5, 6])
      expect(await pages(items, 'by_tag', { equals: ['a', 't1'] }, 2, true)).toEqual([5, 3, 1])
    })

    test('accepts any document as a position, inside or outside the range', async () => {
      const items = await subject.collection()
      for (let id = 0; id < 5; id += 1) await items.insert({ shop: 'a', id, rank: id })
      const past = async (rank: number, reverse: boolean): Promise<unknown[]> => {
        const position = { shop: 'a', id: 99, rank }
        return idsOf(
          await items.find(
            'by_rank',
            { equals: ['a'], from: 1, to: 4 },
            { limit: 9, after: position, reverse },
          ),
        )
      }
      expect(await past(-5, false)).toEqual([1, 2, 3])
      expect(await past(2, false)).toEqual([3])
      expect(await past(9, false)).toEqual([])
      expect(await past(9, true)).toEqual([3, 2, 1])
      expect(await past(2, true)).toEqual([2, 1])
      expect(await past(-5, true)).toEqual([])
    })

    test('reads several ranges of an index as one, in the order of the next field', async () => {
      const items = await subject.collection()
      for (const [shop, rank, id] of [
        ['a', 3, 1],
        ['a', 1, 2],
        ['b', 2, 3],
        ['b', 3, 0],
        ['c', 0, 4],
        ['d', 1, 5],
        ['\u{1d11e}', 1, 6],
      ] as const)
        await items.insert({ shop, id, rank })
      await items.insert({ shop: 'a', id: 7 })
      const ranges = (...equals: string[]): Range[] => equals.map((shop) => ({ equals: [shop] }))
      const read = async (several: readonly Range[]) => {
        const whole = idsOf(await items.find('by_rank', several, { limit: 100 }))
        for (const limit of [1, 2, 3])
          expect(await pages(items, 'by_rank', several, limit, false)).toEqual(whole)
        return whole
      }
      expect(await read(ranges('b', 'a'))).toEqual([7, 2, 3, 1, 0])
      expect(await read(ranges('\u{1d11e}', 'nowhere', 'd', 'a'))).toEqual([7, 2, 5, 6, 1])
      expect(await read(ranges('b'))).toEqual([3, 0])
      expect(await read(ranges('no', 'where'))).toEqual([])
      expect(
        await read([
          { equals: ['d'], to: 2 },
          { equals: ['a'], from: 2 },
          { equals: ['c'], to: 2 },
          { equals: ['b'], to: 2 },
        ]),
      ).toEqual([4, 5, 1])
      const many = Array.from({ length: 64 }, (_, at): Range => ({ equals: [`${at}`], to: 5 }))
      expect(await read([...many.slice(1), { equals: ['a'], to: 3 }])).toEqual([2])
      expect(await items.find('by_rank', many, { limit: 9, after: { shop: 'z', id: 1, rank: 2 } })).toEqual(
        [],
      )
    })

    test('refuses several ranges that cannot be read as one', async () => {
      const items = await subject.collection()
      const refused: [string, readonly Range[], { reverse?: true }?][] = [
        ['by_rank', []],
        ['by_rank', Array.from({ length: 65 }, (_, at) => ({ equals: [`${at}`] }))],
        ['by_rank', [{ equals: ['a'] }, { equals: ['a'], from: 1 }]],
        ['by_rank', [{ equals: ['a'] }, { equals: ['b', 1] }]],
        ['by_rank', [{ equals: ['a'] }, { equals: ['b'] }], { reverse: true }],
        ['by_due', [{ to: new Date(1) }, { from: new Date(2) }]],
        ['by_code', [{ equals: ['a'] }, { equals: ['b'] }]],
        ['by_tag', [{ equals: ['a', 'x'] }, { equals: ['a', 'y'] }]],
        ['key', [{ equals: ['a'] }, { equals: ['b'] }]],
      ]
      for (const [index, ranges, options] of refused)
        await expect(items.find(index, ranges, { limit: 1, ...options })).rejects.toBeInstanceOf(TypeError)
    })

    test('reflects replacements and deletions', async () => {
      const items = await subject.collection()
      const due = { at: new Date(1) }
      const { version } = await items.insert({ shop: 'a', id: 1, rank: 1, tags: ['x', 'y'], due })
      await items.replace({ shop: 'a', id: 1, rank: 2, tags: ['y', 'z'] }, version)
      const has = async (index: string, range: Range): Promise<boolean> =>
        (await items.find(index, range, { limit: 10 })).length > 0
      expect(await has('by_rank', { equals: ['a', 1] })).toBe(false)
      expect(await has('by_rank', { equals: ['a', 2] })).toBe(true)
      expect(await has('by_tag', { equals: ['a', 'x'] })).toBe(false)
      expect(await has('by_tag', { equals: ['a', 'z'] })).toBe(true)
      expect(await has('by_due', {})).toBe(false)
      await items.delete({ shop: 'a', id: 1 }, version + 1)
      expect(await has('by_rank', { equals: ['a'] })).toBe(false)
      expect(await has('by_tag', { equals: ['a', 'z'] })).toBe(false)
      expect(await has('key', { equals: ['a'] })).toBe(false)
    })

    test('refuses queries that an index or a sharded cluster cannot serve', async () => {
      const items = await subject.collection()
      const refused: [string, Range, { limit: number; after?: Record<string, unknown> }][] = [
        ['by_nothing', { equals: ['a'] }, { limit: 1 }],
        ['by_rank', {}, { limit: 1 }],
        ['key', {}, { limit: 1 }],
        ['by_rank', { equals: ['a'] }, { limit: 0 }],
        ['by_rank', { equals: ['a'] }, { limit: 1_001 }],
        ['by_rank', { equals: ['a'] }, { limit: 1.5 }],
        ['by_rank', { equals: ['a', 1], from: 1 }, { limit: 1 }],
        ['by_rank', { equals: ['a', 1, 2] }, { limit: 1 }],
        ['by_tag', { equals: ['a'] }, { limit: 1 }],
        ['by_rank', { equals: ['a'] }, { limit: 1, after: { rank: 1 } }],
        ['by_rank', { equals: ['a', 1.5] }, { limit: 1 }],
      ]
      for (const [index, range, options] of refused) {
        await expect(items.find(index, range, options)).rejects.toBeInstanceOf(TypeError)
      }
    })

    test('finds the same documents by a linearizable read', async () => {
      const items = await subject.collection()
      for (const id of [1, 2, 3]) await items.insert({ shop: 'a', id, rank: -id })
      const found = await items.find('by_rank', { equals: ['a'] }, { limit: 2, linearizable: true })
      expect(found).toEqual(await items.find('by_rank', { equals: ['a'] }, { limit: 2 }))
      expect(found.map(({ id }) => id)).toEqual([3, 2])
    })

    test('finds existing documents by an index that a later release adds', async () => {
      const name = subject.name()
      const old = await subject.store().collection<Item>({ ...ITEMS, name, indexes: {} })
      for (let id = 0; id < 450; id += 1) await old.insert({ shop: 'a', id, rank: -id, twice: id % 10 })
      const items = await subject.store().collection<Item>({ ...ITEMS, name })
      expect(idsOf(await items.find('by_rank', { equals: ['a'] }, { limit: 3 }))).toEqual([449, 448, 447])
      expect(await pages(items, 'by_rank', { equals: ['a'] }, 100, false)).toHaveLength(450)
      expect(await items.get({ shop: 'a', id: 7 })).toMatchObject({
        shop: 'a',
        id: 7,
        rank: -7,
        twice: 7,
      })
      const unique = { once: { fields: ['shop', 'twice'], unique: true } } as const
      await expect(subject.store().collection({ ...ITEMS, name, indexes: unique })).rejects.toMatchObject({
        index: 'once',
      })
    })
  })
}

async function pages(
  items: Collection<Item>,
  index: string,
  range: Range | readonly Range[],
  limit: number,
  reverse: boolean,
): Promise<unknown[]> {
  const found: Stored<Item>[] = []
  let page: Stored<Item>[] = []
  do {
    const after = page.at(-1)
    page = await items.find(index, range, { limit, reverse, ...(after === undefined ? {} : { after }) })
    found.push(...page)
  } while (page.length === limit)
  return idsOf(found)
}

function idsOf(items: readonly Item[]): unknown[] {
  return items.map(({ id }) => id)
}

/** Reorders the values, in the same way in every run. */
function shuffled<T>(values: readonly T[]): T[] {
  return values
    .map((value, at) => ({ value, order: (at * 7) % 5 }))
    .sort((a, b) => a.order - b.order)
    .map(({ value }) => value)
}
