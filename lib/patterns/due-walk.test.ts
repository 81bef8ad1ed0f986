import { expect, test } from '@jest/globals'
import type { Collection, Stored } from '#lib/store/store.ts'
import { createDueWalk } from './due-walk.ts'

interface NumberedDocument {
  readonly number: number
}

const PAGE_SIZE = 256

/** A collection of `count` documents that stay due, and the first document of each page that was read. */
function dueDocuments(count: number) {
  const documents = Array.from(
    { length: count },
    (_, number): Stored<NumberedDocument> => ({ number, version: 1 }),
  )
  const pages: number[] = []
  const find: Collection<NumberedDocument>['find'] = async (_index, _range, { limit, after }) => {
    const from = typeof after?.['number'] === 'number' ? after['number'] + 1 : 0
    pages.push(from)
    return documents.slice(from, from + limit)
  }
  return { collection: { find } as Collection<NumberedDocument>, pages }
}

test('a walk reads four pages, the next one continues there, and the one after the end begins again', async () => {
  const { collection, pages } = dueDocuments(5 * PAGE_SIZE + 1)
  const visited: number[] = []
  const walk = createDueWalk(collection, 'by_due', {
    hasRoom: () => true,
    visit: async ({ number }) => void visited.push(number),
  })
  await walk()
  expect(pages).toEqual([0, 1, 2, 3].map((page) => page * PAGE_SIZE))
  await walk()
  expect(pages.slice(4)).toEqual([4 * PAGE_SIZE, 5 * PAGE_SIZE])
  expect(visited.sort((one, other) => one - other)).toEqual(
    Array.from({ length: 5 * PAGE_SIZE + 1 }, (_, number) => number),
  )
  await walk()
  expect(pages.slice(6)).toEqual([0, 1, 2, 3].map((page) => page * PAGE_SIZE))
})

test('a walk visits 32 documents at a time', async () => {
  const { collection } = dueDocuments(100)
  const gate = Promise.withResolvers<void>()
  let visiting = 0
  const walking = createDueWalk(collection, 'by_due', {
    hasRoom: () => true,
    async visit() {
      visiting += 1
      await gate.promise
    },
  })()
  await new Promise((resolve) => setImmediate(resolve))
  expect(visiting).toBe(32)
  gate.resolve()
  await walking
  expect(visiting).toBe(100)
})

test('a visit that fails does not end the walk, and without room nothing is read', async () => {
  const { collection, pages } = dueDocuments(10)
  let visits = 0
  let has_room = true
  const walk = createDueWalk(collection, 'by_due', {
    hasRoom: () => has_room,
    async visit() {
      visits += 1
      throw new Error('always')
    },
  })
  await walk()
  expect(visits).toBe(10)
  has_room = false
  await walk()
  expect(pages).toEqual([0])
})

test('a walk that ends because there is no room leaves nothing out: the next one begins with the longest due', async () => {
  const { collection, pages } = dueDocuments(3 * PAGE_SIZE)
  let visits = 0
  let visits_max = PAGE_SIZE + 10
  const walk = createDueWalk(collection, 'by_due', {
    hasRoom: () => visits < visits_max,
    async visit() {
      visits += 1
    },
  })
  await walk()
  visits_max = Number.POSITIVE_INFINITY
  await walk()
  expect(pages).toEqual([0, PAGE_SIZE, 0, PAGE_SIZE, 2 * PAGE_SIZE, 3 * PAGE_SIZE])
})
