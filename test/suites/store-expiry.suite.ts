import { afterEach, describe, expect, test } from '@jest/globals'
import { clock, useClock } from '#lib/base/time.ts'
import { Conflict } from '#lib/store/errors.ts'
import type { Collection } from '#lib/store/store.ts'
import { createAdjustableClock } from '../support/adjustable-clock.ts'
import { ITEMS, type Item, type StoreUnderTest } from './store.suite.ts'

const DAY_MS = 24 * 60 * 60 * 1_000
const KEY = { shop: 'a', id: 1 }

/** Expired documents are invisible from their expiry time on, even before the store deletes them. */
export function expirySuite(subject: StoreUnderTest): void {
  describe('expiry', () => {
    let restoreClock: (() => void) | undefined
    afterEach(() => {
      restoreClock?.()
      restoreClock = undefined
    })

    /**
     * Moves the clock of this process only. The server does not delete the documents yet, so our own check must hide
     * them.
     */
    function goForward(time_ms: number): void {
      const adjustable = createAdjustableClock()
      adjustable.stepWall(time_ms)
      restoreClock = useClock(adjustable)
    }
    const expiring = (): Promise<Collection<Item>> => subject.collection({ ...ITEMS, expires: 'gone_at' })
    const inDays = (days: number): Date => new Date(clock.now_ms() + days * DAY_MS)

    test('hides a document from get, find, replace and delete', async () => {
      const items = await expiring()
      const { version } = await items.insert({ ...KEY, rank: 1, gone_at: inDays(1) })
      await items.insert({ shop: 'a', id: 2, rank: 2, gone_at: inDays(3) })
      await items.insert({ shop: 'a', id: 3, rank: 3 })
      expect(await items.find('by_rank', { equals: ['a'] }, { limit: 2 })).toHaveLength(2)
      goForward(2 * DAY_MS)
      expect(await items.get(KEY)).toBeUndefined()
      const ids = (await items.find('by_rank', { equals: ['a'] }, { limit: 2 })).map(({ id }) => id)
      expect(ids).toEqual([2, 3])
      expect((await items.find('key', { equals: ['a'] }, { limit: 9 })).map(({ id }) => id)).toEqual([2, 3])
      await expect(items.replace({ ...KEY, rank: 9 }, version)).rejects.toBeInstanceOf(Conflict)
      await expect(items.delete(KEY, version)).rejects.toBeInstanceOf(Conflict)
    })

    test('frees the key and the unique values', async () => {
      const items = await expiring()
      await items.insert({ ...KEY, code: 'c', rank: 1, gone_at: inDays(1) })
      await items.insert({ shop: 'a', id: 2, code: 'd', serials: [7], gone_at: inDays(1) })
      goForward(2 * DAY_MS)
      const inserted = await items.insert({ ...KEY, rank: 2 })
      await items.insert({ shop: 'a', id: 3, code: 'd' })
      await items.insert({ shop: 'a', id: 4, serials: [7, 8], code: 'c' })
      const ranked = await items.find('by_rank', { equals: ['a'], from: 0 }, { limit: 9 })
      expect(ranked).toEqual([inserted])
    })

    test('allows the unique value of an expired document, but not that of a valid one', async () => {
      const items = await expiring()
      await items.insert({ ...KEY, code: 'c', gone_at: inDays(1) })
      await items.insert({ shop: 'a', id: 2, code: 'd', gone_at: inDays(9) })
      goForward(2 * DAY_MS)
      const both = [3, 4].map((id) => items.insert({ shop: 'a', id, code: 'c' }))
      const outcomes = await Promise.allSettled(both)
      expect(outcomes.filter(({ status }) => status === 'fulfilled')).toHaveLength(1)
      await expect(items.insert({ shop: 'a', id: 5, code: 'd' })).rejects.toMatchObject({ index: 'by_code' })
    })

    test('refuses an expiry time that is not a date', async () => {
      const items = await expiring()
      await expect(items.insert({ ...KEY, gone_at: 5 })).rejects.toBeInstanceOf(TypeError)
      await items.insert({ ...KEY, gone_at: null })
      expect(await items.get(KEY)).toMatchObject({ gone_at: null })
    })
  })
}
