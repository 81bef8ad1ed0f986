import { describe, expect, test } from '@jest/globals'
import type { StoreUnderTest } from './store.suite.ts'

const INT64_MIN = -(2n ** 63n)
const INT64_MAX = 2n ** 63n - 1n

/** Counters: exact under concurrency, never past their ceiling. */
export function countersContract(subject: StoreUnderTest): void {
  describe('increment', () => {
    test('makes the counter, adds to it, and takes away', async () => {
      const items = await subject.collection()
      const key = { shop: 'a', id: 1 }
      expect(await items.increment(key, 'used', 5n)).toEqual({ ok: true, value: 5n })
      expect(await items.get(key)).toEqual({ ...key, used: 5n, version: 1 })
      expect(await items.increment(key, 'used', -7n)).toEqual({ ok: true, value: -2n })
      expect(await items.increment(key, 'other', 1n)).toEqual({ ok: true, value: 1n })
      expect(await items.get(key)).toEqual({ ...key, used: -2n, other: 1n, version: 3 })
    })

    test('leaves everything as it is when the ceiling forbids the sum', async () => {
      const items = await subject.collection()
      const key = { shop: 'a', id: 1 }
      expect(await items.increment(key, 'used', 8n, { max: 7n })).toEqual({ ok: false, value: 0n })
      expect(await items.get(key)).toBeUndefined()
      expect(await items.increment(key, 'used', 7n, { max: 7n })).toEqual({ ok: true, value: 7n })
      expect(await items.increment(key, 'used', 1n, { max: 7n })).toEqual({ ok: false, value: 7n })
      expect(await items.get(key)).toEqual({ ...key, used: 7n, version: 1 })
      expect(await items.increment(key, 'used', -3n, { max: 7n })).toEqual({ ok: true, value: 4n })
    })

    test('adds to a field of a document that was inserted, and moves its index entries', async () => {
      const items = await subject.collection()
      await items.insert({ shop: 'a', id: 1, rank: 3, kept: 'yes' })
      expect(await items.increment({ shop: 'a', id: 1 }, 'rank', 2n)).toEqual({ ok: true, value: 5n })
      expect(await items.find('by_rank', { equals: ['a', 3] }, { limit: 1 })).toEqual([])
      expect(await items.find('by_rank', { equals: ['a', 5] }, { limit: 1 })).toMatchObject([
        { kept: 'yes', version: 2 },
      ])
      await expect(items.increment({ shop: 'a', id: 1 }, 'kept', 2n)).rejects.toBeInstanceOf(TypeError)
    })

    test('never wraps at 64 bits', async () => {
      const items = await subject.collection()
      const key = { shop: 'a', id: 1 }
      await items.increment(key, 'used', INT64_MAX)
      expect(await items.increment(key, 'used', 1n)).toEqual({ ok: false, value: INT64_MAX })
      expect(await items.increment(key, 'used', INT64_MIN)).toEqual({ ok: true, value: -1n })
      await expect(items.increment(key, 'used', INT64_MIN)).rejects.toBeInstanceOf(TypeError)
      expect(await items.get(key)).toMatchObject({ used: -1n })
      await expect(items.increment(key, 'used', INT64_MAX + 1n)).rejects.toBeInstanceOf(TypeError)
      await expect(items.increment(key, 'used', 1n, { max: INT64_MAX + 1n })).rejects.toBeInstanceOf(
        TypeError,
      )
    })

    test('refuses what is no counter', async () => {
      const items = await subject.collection()
      for (const field of ['shop', 'id', 'version', '_id', 'a.b', '$a', '']) {
        await expect(items.increment({ shop: 'a', id: 1 }, field, 1n)).rejects.toBeInstanceOf(TypeError)
      }
      const expires_at = new Date()
      await expect(items.increment({ shop: 'a', id: 1 }, 'used', 1n, { expires_at })).rejects.toBeInstanceOf(
        TypeError,
      )
    })

    test('is exact under concurrency, also when all begin at nothing', async () => {
      const items = await subject.collection()
      const outcomes = await Promise.all(
        Array.from({ length: 100 }, (_, at) =>
          items.increment({ shop: 'a', id: at % 2 }, 'used', 3n, { max: 100n }),
        ),
      )
      const granted = outcomes.filter(({ ok }) => ok)
      expect(granted).toHaveLength(66)
      expect(new Set(granted.map(({ value }) => value)).size).toBe(33)
      for (const outcome of outcomes) if (!outcome.ok) expect(outcome.value).toBe(99n)
      for (const id of [0, 1])
        expect(await items.get({ shop: 'a', id })).toMatchObject({ used: 99n, version: 33 })
    })
  })
}
