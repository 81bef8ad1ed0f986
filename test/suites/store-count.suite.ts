import { describe, expect, test } from '@jest/globals'
import { nextTurn } from '#lib/base/time.ts'
import { Unavailable } from '#lib/contract/errors/unavailable.ts'
import type { Collection, CollectionSpec } from '#lib/store/store.ts'
import type { Item, StoreUnderTest } from './store.suite.ts'

const IN_TIME = { limit_ms: 4_000 }

const COUNTED: Partial<CollectionSpec> = {
  indexes: {
    by_born: { fields: ['shop', 'born_at', 'id', 'state'] },
    by_state: { fields: ['shop', 'state'] },
    by_code: { fields: ['shop', 'code'], unique: true, where: 'code' },
    by_rank: { fields: ['shop', 'rank'], where: 'rank' },
    by_tag: { fields: ['shop', 'tags[]'] },
  },
}

/** An order of a shop: `rank` is its number, from which its id and its time follow. */
function item(shop: string, rank: number, state: string): Item {
  return { shop, id: `i ${rank}`, born_at: new Date(1_000 * rank), state, rank, code: `${rank}`, tags: [] }
}

async function insertAll(items: Collection<Item>, documents: readonly Item[]): Promise<void> {
  const atOnce = 50
  for (let first = 0; first < documents.length; first += atOnce) {
    await Promise.all(documents.slice(first, first + atOnce).map((document) => items.insert(document)))
  }
}

/** Counts by the last field of an index. */
export function countSuite(subject: StoreUnderTest): void {
  describe('count', () => {
    test('counts the documents of a range by the last field of the index', async () => {
      const items = await subject.collection(COUNTED)
      const states = ['new', 'paid', 'new', 'sent to x', '', 'paid!', '𝄞', 'new']
      await insertAll(
        items,
        states.map((state, rank) => item('a', rank, state)),
      )
      await items.insert(item('a b', 1, 'new'))
      const count = async (range: object): Promise<object> =>
        Object.fromEntries(await items.count('by_born', { equals: ['a'], ...range }, IN_TIME))
      const all = { new: 3, paid: 1, 'sent to x': 1, '': 1, 'paid!': 1, '𝄞': 1 }
      expect(await count({})).toEqual(all)
      expect(Object.fromEntries(await items.count('by_state', { equals: ['a'] }, IN_TIME))).toEqual(all)
      expect(await count({ from: new Date(1_000), to: new Date(3_000) })).toEqual({ paid: 1, new: 1 })
      expect(await count({ from: new Date(6_001) })).toEqual({ new: 1 })
      expect(await count({ to: new Date(0) })).toEqual({})
      expect(await count({ equals: ['a', new Date(2_000)] })).toEqual({ new: 1 })
      expect(await count({ equals: ['b'] })).toEqual({})
    })

    test('counts no document outside of the type of a bound, and each by its newest value', async () => {
      const items = await subject.collection(COUNTED)
      const { version } = await items.insert(item('a', 1, 'new'))
      const { born_at: _, ...unborn } = item('a', 2, 'new')
      await items.insert(unborn as Item)
      await items.replace(item('a', 1, 'paid'), version)
      const count = async (range: object): Promise<object> =>
        Object.fromEntries(await items.count('by_born', { equals: ['a'], ...range }, IN_TIME))
      expect(await count({})).toEqual({ paid: 1, new: 1 })
      expect(await count({ from: new Date(0) })).toEqual({ paid: 1 })
      await items.delete({ shop: 'a', id: 'i 1' }, version + 1)
      expect(await count({ from: new Date(0) })).toEqual({})
    })

    test('counts a document once that changes meanwhile, in every order of its values', async () => {
      const items = await subject.collection(COUNTED)
      const total = 6_000
      const changed = 40
      const words = ['a', 'b', 'c']
      await insertAll(
        items,
        Array.from({ length: total }, (_, rank) => item('a', rank, 'b')),
      )
      let is_over = false
      const change = async (rank: number): Promise<void> => {
        let stored = await items.get({ shop: 'a', id: `i ${rank}` })
        for (let round = rank; !is_over && stored; round += 1) {
          const state = words[round % words.length] ?? 'b'
          stored = await items.replace({ ...stored, state }, stored.version)
          await new Promise<void>(nextTurn)
        }
      }
      // Those that change are spread over the whole range.
      const changes = Array.from({ length: changed }, (_, number) => change((number * total) / changed))
      try {
        for (let round = 0; round < 10; round += 1) {
          const counts = await items.count('by_born', { equals: ['a'] }, IN_TIME)
          expect([...counts.values()].reduce((sum, count) => sum + count, 0)).toBe(total)
          expect(counts.get('b')).toBeGreaterThanOrEqual(total - changed)
        }
      } finally {
        is_over = true
      }
      await Promise.all(changes)
    })

    test('sees every write that was acknowledged before it', async () => {
      const items = await subject.collection(COUNTED)
      for (let rank = 0; rank < 20; rank += 1) {
        const { version } = await items.insert(item('a', rank, 'new'))
        await items.replace(item('a', rank, 'paid'), version)
        const counts = await items.count('by_born', { equals: ['a'] }, IN_TIME)
        expect([...counts]).toEqual([['paid', rank + 1]])
      }
    })

    test('refuses an index that has not all documents, or whose entries are not one for each', async () => {
      const items = await subject.collection(COUNTED)
      const expiring = await subject.collection({ ...COUNTED, expires: 'gone_at' })
      const range = { equals: ['a'] }
      for (const index of ['by_code', 'by_rank', 'by_tag', 'key', 'by_nothing'])
        await expect(items.count(index, range, IN_TIME)).rejects.toBeInstanceOf(TypeError)
      await expect(expiring.count('by_state', range, IN_TIME)).rejects.toBeInstanceOf(TypeError)
      await expect(items.count('by_state', {}, IN_TIME)).rejects.toBeInstanceOf(TypeError)
      await expect(items.count('by_state', { equals: ['a', 'b'] }, IN_TIME)).rejects.toBeInstanceOf(TypeError)
      await expect(items.count('by_state', { equals: ['a'], from: 'b' }, IN_TIME)).rejects.toBeInstanceOf(
        TypeError,
      )
    })

    test('refuses documents that have no text in the counted field', async () => {
      const items = await subject.collection(COUNTED)
      await items.insert({ shop: 'a', id: 1, born_at: new Date(0) })
      await items.insert({ shop: 'b', id: 1, born_at: new Date(0), state: 7 })
      for (const shop of ['a', 'b'])
        await expect(items.count('by_born', { equals: [shop] }, IN_TIME)).rejects.toBeInstanceOf(TypeError)
    })

    test('is unavailable when no time is left', async () => {
      const items = await subject.collection(COUNTED)
      await items.insert(item('a', 1, 'new'))
      const count = items.count('by_born', { equals: ['a'] }, { limit_ms: 0 })
      await expect(count).rejects.toBeInstanceOf(Unavailable)
    })
  })
}
