import { describe, expect, test } from '@jest/globals'
import type { Collection, Stored } from '#lib/store/store.ts'
import { type PagedList, type PageRequest, readPage } from './read-page.ts'

interface Item {
  readonly shop: string
  readonly name: string
  readonly is_red: boolean
}

const ITEMS = Array.from({ length: 2_500 }, (_, at) => ({
  shop: 'a',
  name: `item ${String(at).padStart(4, '0')}`,
  is_red: at % 500 === 499,
  version: 1,
}))

/** A collection of the items above that counts its reads. */
function itemsInOrder(): { readonly collection: Pick<Collection<Item>, 'find'>; readonly limits: number[] } {
  const limits: number[] = []
  return {
    limits,
    collection: {
      async find(_index, _range, { limit, after }): Promise<Stored<Item>[]> {
        limits.push(limit)
        const begin = after ? ITEMS.findIndex(({ name }) => name === after['name']) + 1 : 0
        return ITEMS.slice(begin, begin + limit)
      },
    },
  }
}

const listOf = (collection: Pick<Collection<Item>, 'find'>): PagedList<Item> => ({
  collection,
  index: 'by_name',
  range: { equals: ['a'] },
  token_scope: { shop: 'a' },
  position: { name: 'text' },
})

async function readAll(list: PagedList<Item>, page_size: number): Promise<(readonly Item[])[]> {
  const pages: (readonly Item[])[] = []
  let page_token = ''
  do {
    const page = await readPage(list, { page_size, page_token })
    pages.push(page.items)
    page_token = page.next_page_token
  } while (page_token !== '')
  return pages
}

describe('a page of a list', () => {
  test('reads no more than its size without a filter, and every item once over all pages', async () => {
    const { collection, limits } = itemsInOrder()
    expect((await readAll(listOf(collection), 70)).flat()).toEqual(ITEMS)
    expect(new Set(limits)).toEqual(new Set([70]))
  })

  test('holds the matching items once over all pages, with short pages where few items match', async () => {
    const { collection, limits } = itemsInOrder()
    const list = { ...listOf(collection), matches: ({ is_red }: Item) => is_red }
    const pages = await readAll(list, 10)
    expect(pages.flat()).toEqual(ITEMS.filter(({ is_red }) => is_red))
    expect(pages.map((page) => page.length)).toEqual([4, 1])
    expect(limits).toHaveLength(13)
  })

  test('continues after the last item of a full page', async () => {
    const { collection } = itemsInOrder()
    const list = { ...listOf(collection), matches: ({ is_red }: Item) => is_red }
    const pages = await readAll(list, 2)
    expect(pages.flat()).toEqual(ITEMS.filter(({ is_red }) => is_red))
    expect(pages.slice(0, 2).map((page) => page.length)).toEqual([2, 2])
  })

  test.each<[string, PageRequest]>([
    ['page_size', { page_size: 1_001, page_token: '' }],
    ['page_token', { page_size: 1, page_token: 'garbage' }],
  ])('refuses a wrong %s with 9000', async (description, request) => {
    const refused = readPage(listOf(itemsInOrder().collection), request)
    await expect(refused).rejects.toMatchObject({ code: 9000, details: { description } })
  })
})
