import { execFile } from 'node:child_process'
import { mkdir, open, readdir, readFile, readlink, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { gzipSync } from 'node:zlib'
import { afterEach, beforeEach, expect, jest, test } from '@jest/globals'
import { machineClock, useClock } from '#lib/base/time.ts'
import { eventually } from '../../../test/support/eventually.ts'
import { installManualClock } from '../../../test/support/manual-clock.ts'
import { log } from '../../telemetry/log.ts'
import type { Stored } from '../store.ts'
import { archiveDocuments } from './archive-documents.ts'
import { createArchiveFile } from './archive-file.ts'
import { createArchiveReader, warnOfUnreadable } from './archive-reader.ts'
import { ORDERS, type Order, type OrdersFixture, openOrders } from './orders.fixture.ts'

let opened: OrdersFixture
let { directory, stored, readStored } = {} as OrdersFixture
beforeEach(async () => {
  opened = await openOrders(4)
  ;({ directory, stored, readStored } = opened)
})
afterEach(async () => {
  // A read that waits for the writer of a pipe would keep the process.
  for (const path of pipes.splice(0)) await endPipe(path)
  await opened[Symbol.asyncDispose]()
})

const pipes: string[] = []

/** Puts a pipe in the place of a file. Opening it for reading waits for its writer, as a file system that hangs does. */
async function makePipe(path: string): Promise<void> {
  await rm(path)
  await promisify(execFile)('mkfifo', [path])
  pipes.push(path)
}

/** Ends what waits for the pipe. */
async function endPipe(path: string): Promise<void> {
  await (await open(path, 'r+')).close()
}

/** Archives some orders into a file of their own, and returns the path of the file. */
async function archiveApart(ids: readonly number[]): Promise<string> {
  let path = ''
  const createFile: typeof createArchiveFile = async (...parameters) => {
    const file = await createArchiveFile(...parameters)
    path = join(directory, file.name)
    return file
  }
  const some = async function* (): AsyncGenerator<Stored<Order>> {
    yield* (await readStored()).filter(({ id }) => ids.includes(id))
  }
  const target = { spec: ORDERS, collection: stored, directory, createFile }
  for await (const _count of archiveDocuments(target, some()));
  return path
}

test('the time for which a read waits for others counts for its limit', async () => {
  const ids = [0, 1, 2]
  const paths: string[] = []
  for (const id of ids) paths.push(await archiveApart([id]))
  for (const path of paths) await makePipe(path)
  const reader = createArchiveReader(directory, { limit_ms: 20 })
  const stubs = (await readStored()).slice(0, ids.length)
  using manual = installManualClock()
  const [first, second, third] = stubs.map((stub) =>
    reader.readBody(ORDERS, { ...stub }).catch((error: unknown) => String(error)),
  )
  await manual.advance(15)
  await endPipe(paths[0] ?? '')
  // A pipe has no positions.
  expect(await first).toMatch('ESPIPE')
  await manual.advance(5)
  expect([await second, await third]).toEqual(
    Array(2).fill(expect.stringContaining('no answer within 20 ms')),
  )
})

test('a read that waited long is not taken for one that hangs, so the reads after it wait for it', async () => {
  const ids = [0, 1, 2]
  const paths: string[] = []
  for (const id of ids) paths.push(await archiveApart([id]))
  await archiveApart([3])
  for (const path of paths) await makePipe(path)
  const reader = createArchiveReader(directory, { limit_ms: 20 })
  const read = (stub: Stored<Order> | undefined) =>
    reader.readBody(ORDERS, { ...stub }).catch((error: unknown) => String(error))
  const [first_stub, second_stub, third_stub, last_stub] = await readStored()
  using manual = installManualClock()
  const [first, , third] = [first_stub, second_stub, third_stub].map(read)
  await manual.advance(15)
  await endPipe(paths[0] ?? '')
  await first
  await manual.advance(5)
  expect(await third).toMatch('no answer within 20 ms')
  const last = read(last_stub)
  await endPipe(paths[2] ?? '')
  expect(await last).toMatchObject({ text: 'text 3' })
})

test('a file system that hangs keeps two reads, and fails all others at once until they end', async () => {
  const paths = [await archiveApart([0]), await archiveApart([1])]
  await archiveApart([2])
  const [bytes] = await Promise.all(paths.map((path) => readFile(path)))
  for (const path of paths) await makePipe(path)
  const reader = createArchiveReader(directory, { limit_ms: 20 })
  const stubs = await readStored()
  const read = (id: number) =>
    reader.readBody(ORDERS, { ...stubs[id] }).catch((error: unknown) => String(error).replace(/.*: /, ''))
  {
    using manual = installManualClock()
    const results = [read(0), read(1)]
    await manual.advance(20)
    expect(await Promise.all(results)).toEqual(Array(2).fill('no answer within 20 ms'))
    expect(await Promise.all([read(0), read(2)])).toEqual(Array(2).fill('the reads before it hang'))
  }
  for (const path of paths) await endPipe(path)
  await rm(paths[0] ?? '')
  await writeFile(paths[0] ?? '', bytes ?? '')
  for (const id of [0, 2])
    await eventually(
      () => read(id),
      (result) => typeof result === 'object',
    )
})

test('no more than two reads are under way at once', async () => {
  const paths = [await archiveApart([0]), await archiveApart([1])]
  await archiveApart([2])
  for (const path of paths) await makePipe(path)
  const stubs = await readStored()
  const reader = createArchiveReader(directory, { limit_ms: 20 })
  using manual = installManualClock()
  const results = stubs.slice(0, 3).map((stub) => reader.readBody(ORDERS, { ...stub }).catch(() => 'failed'))
  // Long enough for a read of this file, if it did not wait.
  await createArchiveReader(directory).readBody(ORDERS, { ...stubs[2] })
  await manual.advance(20)
  expect(await Promise.all(results)).toEqual(['failed', 'failed', 'failed'])
})

test('a page of a file system that hangs leaves the second read to other callers', async () => {
  await archiveApart([0])
  for (const path of [await archiveApart([1]), await archiveApart([2])]) await makePipe(path)
  const reader = createArchiveReader(directory, { limit_ms: 20 })
  const orders = await opened.openWhole(reader)
  await expect(orders.find('key', { equals: ['a'], from: 1 }, { limit: 2 })).rejects.toThrow(
    'no answer within 20 ms',
  )
  {
    // No time passes now.
    using _manual = installManualClock()
    expect(await orders.get({ shop: 'a', id: 0 })).toMatchObject({ text: 'text 0' })
  }
})

test('a read leaves no file open, and a block that inflates to too many bytes is not read', async () => {
  const path = await archiveApart([0])
  // Without a time limit: a slow disk must not answer first.
  using _manual = installManualClock()
  const reader = createArchiveReader(directory, { cache_bytes: 0 })
  const [stub] = await readStored()
  if (!stub || !('archived' in stub) || !Array.isArray(stub.archived)) throw new Error('it is not archived')
  await reader.readBody(ORDERS, { ...stub })
  const [run, , , line, digest] = stub.archived
  const bomb = gzipSync(Buffer.alloc(33 * 1_024 ** 2))
  await writeFile(path, bomb)
  const place = [run, 0, bomb.length, line, digest]
  await expect(reader.readBody(ORDERS, { ...stub, archived: place })).rejects.toThrow('ERR_BUFFER_TOO_LARGE')
  const fds = await readdir('/proc/self/fd')
  const files = await Promise.all(fds.map((fd) => readlink(`/proc/self/fd/${fd}`).catch(() => '')))
  expect(files.filter((file) => file.startsWith(directory))).toEqual([])
})

test('the blocks of a page share one time limit, and what they were too late for is read the next time', async () => {
  const paths = [await archiveApart([0]), await archiveApart([1]), await archiveApart([2])]
  const orders = await opened.openWhole()
  const page = { limit: paths.length }
  let now_ms = 0
  // Each look at the clock comes later, which makes each block slow.
  const monotonic_ms = (): number => {
    now_ms += 800
    return now_ms
  }
  {
    using _slow = { [Symbol.dispose]: useClock({ ...machineClock, monotonic_ms }) }
    await expect(orders.find('key', { equals: ['a'] }, page)).rejects.toThrow('page takes more than 5000 ms')
  }
  expect(await orders.find('key', { equals: ['a'] }, page)).toHaveLength(paths.length)
})

test('a directory that cannot be read is one warning, and a directory that can be read, or is not set, is none', async () => {
  const warn = jest.spyOn(log, 'warn').mockImplementation(() => {})
  await mkdir(directory)
  const file = join(directory, 'file')
  await writeFile(file, '')
  for (const path of [undefined, directory, file, join(directory, 'missing')]) await warnOfUnreadable(path)
  expect(warn.mock.calls.map(([{ path, code }]) => [path, code])).toEqual([
    [file, 'ENOTDIR'],
    [join(directory, 'missing'), 'ENOENT'],
  ])
  warn.mockRestore()
})
