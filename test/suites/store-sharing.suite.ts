import { describe, expect, test } from '@jest/globals'
import { Unavailable } from '#lib/contract/errors/unavailable.ts'
import { Conflict } from '#lib/store/errors.ts'
import { ITEMS, type Item, type StoreUnderTest } from './store.suite.ts'

/** Several handles to one store, as several processes of a service have them. */
export function sharingSuite(subject: StoreUnderTest): void {
  describe('sharing', () => {
    test('a write of one handle is visible to another at once, and conflicts with its old version', async () => {
      const spec = { ...ITEMS, name: subject.name() }
      const other = await subject.open()
      const [here, there] = [await subject.store().collection<Item>(spec), await other.collection<Item>(spec)]
      for (let id = 0; id < 20; id += 1) {
        const { version } = await here.insert({ shop: 'a', id, rank: id })
        expect(await there.get({ shop: 'a', id })).toMatchObject({ rank: id })
        await there.replace({ shop: 'a', id, rank: -id }, version)
        await expect(here.replace({ shop: 'a', id }, version)).rejects.toBeInstanceOf(Conflict)
        expect(await here.find('by_rank', { equals: ['a', -id] }, { limit: 1 })).toHaveLength(1)
      }
      await other.close()
    })

    test('a collection can be opened by several handles at the same time', async () => {
      const spec = { ...ITEMS, name: subject.name(), expires: 'gone_at' }
      const stores = await Promise.all(Array.from({ length: 4 }, () => subject.open()))
      const collections = await Promise.all(stores.map((store) => store.collection<Item>(spec)))
      await Promise.all(collections.map((items, id) => items.insert({ shop: 'a', id, code: `c${id}` })))
      for (const items of collections) {
        expect(await items.find('by_code', { equals: ['a'] }, { limit: 9 })).toHaveLength(4)
      }
      await Promise.all(stores.map((store) => store.close()))
    })

    test('all data is present after the store was closed and opened again', async () => {
      const name = subject.name()
      const before = await subject.open()
      const items = await before.collection<Item>({ ...ITEMS, name })
      const { version } = await items.insert({ shop: 'a', id: 1, rank: 3n, code: 'c', tags: ['x'] })
      const replaced = { shop: 'a', id: 1, rank: 4n, code: 'c', tags: ['y'] }
      await items.replace(replaced, version)
      const blobs = await before.blobs(name)
      await blobs.put(
        'one',
        (async function* () {
          yield Buffer.from('kept')
        })(),
      )
      await before.close()
      const after = await subject.open()
      const again = await after.collection<Item>({ ...ITEMS, name })
      const expected = { ...replaced, version: version + 1 }
      expect(await again.get({ shop: 'a', id: 1 })).toEqual(expected)
      expect(await again.find('by_rank', { equals: ['a'] }, { limit: 9 })).toEqual([expected])
      await expect(again.insert({ shop: 'a', id: 2, code: 'c' })).rejects.toMatchObject({ index: 'by_code' })
      expect(await (await after.blobs(name)).get('one')).toBeDefined()
      await after.ping()
      await after.close()
    })

    test('a closed store is unavailable', async () => {
      const store = await subject.open()
      const items = await store.collection<Item>({ ...ITEMS, name: subject.name() })
      await store.close()
      await store.close()
      await expect(items.get({ shop: 'a', id: 1 })).rejects.toBeInstanceOf(Unavailable)
      await expect(items.insert({ shop: 'a', id: 1 })).rejects.toBeInstanceOf(Unavailable)
      await expect(store.ping()).rejects.toBeInstanceOf(Unavailable)
    })
  })
}
