import { describe, expect, test } from '@jest/globals'
import { Duplicate } from '#lib/store/errors.ts'
import type { Item, StoreUnderTest } from './store.suite.ts'

/** Inserts that may share a command: `InsertOptions.is_grouped`. */
export function groupsSuite(subject: StoreUnderTest): void {
  describe('grouped inserts', () => {
    test('take place, more than one command holds', async () => {
      const items = await subject.collection()
      const inserted = await Promise.all(
        Array.from({ length: 300 }, (_, id) =>
          items.insert({ shop: 'a', id, rank: id }, { is_grouped: true }),
        ),
      )
      const found = await items.find('by_rank', { equals: ['a'] }, { limit: 1_000 })
      expect(found).toEqual(inserted)
    })

    test('have an outcome each: a duplicate refuses its own document only, and names the index', async () => {
      const items = await subject.collection()
      await items.insert({ shop: 'a', id: 1, code: 'one' })
      const documents: Item[] = [
        { shop: 'a', id: 1, code: 'other' },
        { shop: 'a', id: 2, code: 'two' },
        { shop: 'a', id: 3, code: 'one' },
        { shop: 'a', id: 4, serials: ['x', 'y'] },
        { shop: 'b', id: 1, code: 'one' },
      ]
      const outcomes = await Promise.allSettled(
        documents.map((document) => items.insert(document, { is_grouped: true })),
      )
      const reasons = outcomes.map((outcome) => ('reason' in outcome ? outcome.reason : undefined))
      const isRefused = (index: string): unknown => expect.objectContaining({ name: 'Duplicate', index })
      expect(reasons).toEqual([isRefused('key'), undefined, isRefused('by_code'), undefined, undefined])
      expect(await items.find('key', { equals: ['a'] }, { limit: 10 })).toMatchObject([
        { id: 1, code: 'one' },
        { id: 2, code: 'two' },
        { id: 4 },
      ])
    })

    test('of one key or one unique value, one takes place', async () => {
      const items = await subject.collection()
      for (const documents of [
        [1, 2, 3].map((rank) => ({ shop: 'a', id: 1, rank })),
        [2, 3, 4].map((id) => ({ shop: 'a', id, serials: ['s', `only ${id}`] })),
      ]) {
        const outcomes = await Promise.allSettled(
          documents.map((document) => items.insert(document, { is_grouped: true })),
        )
        const refused = outcomes.filter(({ status }) => status === 'rejected')
        expect(refused).toHaveLength(2)
        for (const outcome of refused) expect(outcome).toMatchObject({ reason: expect.any(Duplicate) })
      }
      expect(await items.find('key', { equals: ['a'] }, { limit: 10 })).toHaveLength(2)
    })

    test('that cannot be stored are refused alone', async () => {
      const items = await subject.collection()
      const [good, bad] = await Promise.allSettled([
        items.insert({ shop: 'a', id: 1 }, { is_grouped: true }),
        items.insert({ shop: 'a', id: 2, value: Number.NaN }, { is_grouped: true }),
      ])
      expect(good).toMatchObject({ status: 'fulfilled' })
      expect(bad).toMatchObject({ reason: expect.any(TypeError) })
    })
  })
}
