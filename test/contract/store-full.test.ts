import { execFileSync } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, test } from '@jest/globals'
import { Ambiguous, Unavailable } from '#lib/store/errors.ts'
import { openStore } from '#lib/store/open.ts'
import type { Collection, Store } from '#lib/store/port.ts'
import { failureOf, ITEMS, type Item } from './store.contract.ts'

const BALLAST_BYTES = 1_500_000
const DOCUMENT_BYTES = 20_000
const DISK = 'size=8m'

const mounted = await mountSmallDisk()

describe('the embedded store without room', () => {
  if ('skip' in mounted) {
    test.skip(`a full disk: ${mounted.skip}`, () => {})
    return
  }

  test('a full disk refuses writes and blobs, ends nothing, and goes on when there is room again', async () => {
    const ballast = join(mounted.directory, 'ballast')
    await writeFile(ballast, Buffer.alloc(BALLAST_BYTES))
    const store = await openStore({ database: 'orders', directory: mounted.directory })
    const items = await store.collection<Item>({ ...ITEMS, name: 'items' })
    const kept = await fill(items)
    await expectWhole(items, kept)
    await expectNoRoomForBlob(store)
    await rm(ballast)
    kept.push(...(await insertSome(items, 10, 1_000)))
    await expectWhole(items, kept)
    await store.close()
    const again = await openStore({ database: 'orders', directory: mounted.directory })
    await expectWhole(await again.collection<Item>({ ...ITEMS, name: 'items' }), kept)
    await again.close()
    mounted.unmount()
  })
})

/** Inserts until there is no room, and answers what was acknowledged. Several at a time, so that a group fails. */
async function fill(items: Collection<Item>): Promise<number[]> {
  const kept: number[] = []
  for (let first = 0; first < 1_000; first += 4) {
    const ids = [0, 1, 2, 3].map((at) => first + at)
    const outcomes = await Promise.allSettled(ids.map((id) => items.insert(large(id))))
    ids.forEach((id, at) => {
      if (outcomes[at]?.status === 'fulfilled') kept.push(id)
    })
    for (const outcome of outcomes) {
      if (outcome.status === 'fulfilled') continue
      expect(outcome.reason).toBeInstanceOf(Unavailable)
      expect(outcome.reason).not.toBeInstanceOf(Ambiguous)
    }
    if (outcomes.some(({ status }) => status === 'rejected')) return kept
  }
  throw new Error('it never was full')
}

async function insertSome(items: Collection<Item>, count: number, first: number): Promise<number[]> {
  const ids = Array.from({ length: count }, (_, at) => first + at)
  for (const id of ids) await items.insert(large(id))
  return ids
}

function large(id: number): Item {
  return { shop: 'a', id, rank: id, code: `c${id}`, payload: 'x'.repeat(DOCUMENT_BYTES) }
}

async function expectWhole(items: Collection<Item>, kept: readonly number[]): Promise<void> {
  for (const index of ['key', 'by_rank', 'by_code']) {
    const found = await items.find(index, { equals: ['a'] }, { limit: 1_000 })
    const ids = found.map(({ id }) => Number(id)).sort((left, right) => left - right)
    expect({ index, ids }).toEqual({ index, ids: kept })
  }
}

async function expectNoRoomForBlob(store: Store): Promise<void> {
  const blobs = await store.blobs('files')
  async function* bytes(): AsyncGenerator<Uint8Array> {
    for (let at = 0; at < 100; at += 1) yield Buffer.alloc(100_000)
  }
  expect(await failureOf(blobs.put('one', bytes()))).toBeInstanceOf(Unavailable)
  expect(await blobs.get('one')).toBeUndefined()
}

async function mountSmallDisk(): Promise<{ directory: string; unmount(): void } | { skip: string }> {
  const directory = await mkdtemp(join(tmpdir(), 'store-disk-'))
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', DISK, 'tmpfs', directory], { stdio: 'pipe' })
  } catch (error) {
    await rm(directory, { recursive: true })
    return { skip: `a small disk cannot be mounted here (${String(error).split('\n')[0]})` }
  }
  return { directory, unmount: () => execFileSync('umount', [directory]) }
}
