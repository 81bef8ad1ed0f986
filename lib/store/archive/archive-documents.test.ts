import { open, readdir, readFile, readlink, stat, truncate } from 'node:fs/promises'
import { join } from 'node:path'
import { gunzipSync } from 'node:zlib'
import { afterEach, beforeEach, expect, jest, test } from '@jest/globals'
import { Unavailable } from '#lib/contract/errors/unavailable.ts'
import { Ambiguous, ArchiveUnavailable } from '../errors.ts'
import type { Collection, Stored } from '../store.ts'
import { type ArchiveCount, archiveDocuments } from './archive-documents.ts'
import { type ArchiveFile, createArchiveFile } from './archive-file.ts'
import { isStub } from './archived-document.ts'
import { ORDERS, type Order, type OrdersFixture, openOrders } from './orders.fixture.ts'

/** More than one block. */
const ORDER_COUNT = 150

let opened: OrdersFixture
let { home, directory, stored, readStored } = {} as OrdersFixture
beforeEach(async () => {
  opened = await openOrders(ORDER_COUNT)
  ;({ home, directory, stored, readStored } = opened)
})
afterEach(() => opened[Symbol.asyncDispose]())

async function* documents(): AsyncGenerator<Stored<Order>> {
  yield* await readStored()
}

interface Faults {
  readonly createFile?: typeof createArchiveFile
  readonly collection?: Collection<Order>
}

async function archive({ createFile = createArchiveFile, collection = stored }: Faults = {}) {
  const target = { spec: ORDERS, collection, directory, createFile }
  let last: Partial<ArchiveCount> = {}
  for await (const count of archiveDocuments(target, documents())) last = count
  return last
}

async function expectAllWhole(): Promise<void> {
  const orders = await opened.openWhole()
  const found = await orders.find('key', { equals: ['a'] }, { limit: 1_000 })
  expect(found.map(({ id, text }) => [id, text])).toEqual(
    Array.from({ length: ORDER_COUNT }, (_, id) => [id, `text ${id}`]),
  )
}

const countStubs = async (): Promise<number> => (await readStored()).filter(isStub).length

class Killed extends Error {}

/** The files of killed runs. The process of the test lives on and closes them. */
const open_files: ArchiveFile[] = []

/** The steps of an archive, each before and after it is done; the process ends at one of them. */
function endingAt(end: number) {
  let steps = 0
  const step = (): void => {
    steps += 1
    if (steps >= end) throw new Killed()
  }
  const around = async <T>(work: () => Promise<T>): Promise<T> => {
    step()
    const result = await work()
    step()
    return result
  }
  const createFile: typeof createArchiveFile = (...parameters) =>
    around(async () => {
      const file = await createArchiveFile(...parameters)
      open_files.push(file)
      return { ...file, append: (lines) => around(() => file.append(lines)) }
    })
  const collection: Collection<Order> = {
    ...stored,
    replace: (document, version) => around(() => stored.replace(document, version)),
  }
  return { createFile, collection, steps: () => steps }
}

// O24.3
test('a run that ends at any step loses nothing, and the next one goes on', async () => {
  const whole = endingAt(Number.POSITIVE_INFINITY)
  await archive(whole)
  expect(await countStubs()).toBe(ORDER_COUNT)
  // Creating the file, then for each of 2 blocks writing it and each replacement: twice as many steps.
  expect(whole.steps()).toBe(2 * (1 + 2 + ORDER_COUNT))
  for (const end of [1, 2, 3, 4, 5, 6, 100, 259, 260, 261, 262, 263, 264, 300, whole.steps()]) {
    const orders = await opened.openWhole()
    for (const order of await orders.find('key', { equals: ['a'] }, { limit: 1_000 }))
      await orders.replace(order, order.version)
    expect(await countStubs()).toBe(0)
    await expect(archive(endingAt(end))).rejects.toThrow(Killed)
    for (const file of open_files.splice(0)) await file.close()
    await expectAllWhole()
    await archive()
    expect(await countStubs()).toBe(ORDER_COUNT)
    await expectAllWhole()
  }
})

test('two runs at once archive each document once', async () => {
  const counts = await Promise.all([archive(), archive()])
  expect(counts.reduce((sum, { archived = 0 }) => sum + archived, 0)).toBe(ORDER_COUNT)
  expect(await countStubs()).toBe(ORDER_COUNT)
  await expectAllWhole()
})

test('a file is lines of JSON in gzip, which other programs read', async () => {
  await archive()
  const [name = ''] = await readdir(directory)
  expect(name).toMatch(/^orders-\d{4}-\d{2}-\d{2}-[0-9a-f]{12}\.jsonl\.gz$/)
  expect((await stat(join(directory, name))).mode & 0o777).toBe(0o640)
  expect((await stat(directory)).mode & 0o777).toBe(0o750)
  const lines = gunzipSync(await readFile(join(directory, name)))
    .toString()
    .trimEnd()
    .split('\n')
  expect(lines).toHaveLength(ORDER_COUNT)
  expect(JSON.parse(lines[7] ?? '')).toEqual({
    collection: 'orders',
    key: { shop: 'a', id: 7 },
    body: { text: 'text 7' },
  })
})

// O24.3: a power cut must not take a line from under its stub.
test('each block, and before the first stub the name of the file, is flushed to the disk', async () => {
  const handle = await open(home, 'r')
  const prototype = Object.getPrototypeOf(handle)
  await handle.close()
  const steps: string[] = []
  const spy = jest.spyOn(prototype, 'sync').mockImplementation(async function (this: typeof handle) {
    const path = await readlink(`/proc/self/fd/${this.fd}`)
    if (path === directory) steps.push('name')
    else if (path !== home) steps.push(`block of ${(await stat(path)).size > 0 ? 'lines' : 'nothing'}`)
  })
  const collection: Collection<Order> = {
    ...stored,
    replace(document, version) {
      if (steps.at(-1) !== 'stubs') steps.push('stubs')
      return stored.replace(document, version)
    },
  }
  try {
    await archive({ collection })
  } finally {
    spy.mockRestore()
  }
  expect(steps).toEqual(['block of lines', 'name', 'stubs', 'block of lines', 'stubs'])
})

test('nothing is archived from a block that cannot be read back', async () => {
  const createFile: typeof createArchiveFile = async (...parameters) => {
    const file = await createArchiveFile(...parameters)
    const path = join(directory, file.name)
    return {
      ...file,
      async append(lines) {
        const place = await file.append(lines)
        await truncate(path, place.offset + place.bytes - 1)
        return place
      },
    }
  }
  await expect(archive({ createFile })).rejects.toThrow(ArchiveUnavailable)
  expect(await countStubs()).toBe(0)
})

test('nothing is archived from a block with a document that comes back in another form', async () => {
  const target = { spec: ORDERS, collection: stored, directory }
  const [order] = await readStored()
  async function* changed() {
    // A read document has a Buffer.
    yield { ...order, bytes: new Uint8Array(1) } as Stored<object>
  }
  await expect(archiveDocuments(target, changed()).next()).rejects.toThrow('does not come back')
  expect(await countStubs()).toBe(0)
})

test('a replacement that may have happened leaves the document to the next run, and a store that is unavailable ends this one', async () => {
  let failure: Error = new Ambiguous('no answer')
  const collection: Collection<Order> = {
    ...stored,
    async replace(document, version) {
      const result = await stored.replace(document, version)
      if (document.id === 3) throw failure
      return result
    },
  }
  expect(await archive({ collection })).toMatchObject({ archived: ORDER_COUNT - 1, left: 1 })
  await expectAllWhole()
  expect(await archive()).toMatchObject({ archived: 0, left: 0 })
  const orders = await opened.openWhole()
  const order = await orders.get({ shop: 'a', id: 3 })
  if (order) await orders.replace(order, order.version)
  failure = new Unavailable('the store is down')
  await expect(archive({ collection })).rejects.toBe(failure)
  await expectAllWhole()
})

test('a run that fails closes its file, after all replacements of the block have ended', async () => {
  let is_closed = false
  const createFile: typeof createArchiveFile = async (...parameters) => {
    const file = await createArchiveFile(...parameters)
    return {
      ...file,
      async close() {
        await file.close()
        is_closed = true
      },
    }
  }
  let under_way = 0
  const collection: Collection<Order> = {
    ...stored,
    async replace(document, version) {
      if (document.id === 0) throw new Unavailable('the store is down')
      under_way += 1
      const result = await stored.replace(document, version)
      under_way -= 1
      return result
    },
  }
  await expect(archive({ createFile, collection })).rejects.toThrow('the store is down')
  expect({ under_way, is_closed }).toEqual({ under_way: 0, is_closed: true })
})

test('a block of large documents has few of them, and a document that is too large for a line is left', async () => {
  const blocks: number[] = []
  const createFile: typeof createArchiveFile = async (...parameters) => {
    const file = await createArchiveFile(...parameters)
    return {
      ...file,
      append(lines) {
        blocks.push(lines.length)
        return file.append(lines)
      },
    }
  }
  const large: Stored<object>[] = []
  for (const id of [1_000, 1_001, 1_002])
    large.push(await stored.insert({ shop: 'a', id, text: 'x'.repeat(200_000) }))
  async function* list() {
    yield { shop: 'a', id: 1_003, text: 'x'.repeat(16 * 1_024 ** 2), version: 1 } as Stored<object>
    yield* large
  }
  let last: Partial<ArchiveCount> = {}
  for await (last of archiveDocuments({ spec: ORDERS, collection: stored, directory, createFile }, list()));
  expect(last).toMatchObject({ archived: 3, left: 1 })
  expect(blocks).toEqual([2, 1])
})
