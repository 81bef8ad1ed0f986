import assert from 'node:assert/strict'
import { rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { Unavailable } from '#lib/contract/errors/unavailable.ts'
import { Ambiguous } from '#lib/store/errors.ts'
import { openStore } from '#lib/store/open.ts'
import type { Collection, CollectionSpec, Store } from '#lib/store/store.ts'
import { HANG_LIMIT_MS } from '../support/hang-limit.ts'

interface Item {
  readonly shop: string
  readonly id: number
  readonly rank: number
  readonly code: string
  readonly payload: string
}

const ITEMS: CollectionSpec = {
  name: 'items',
  partition: ['shop'],
  key: ['shop', 'id'],
  indexes: { by_rank: { fields: ['shop', 'rank'] }, by_code: { fields: ['shop', 'code'], unique: true } },
}
const BALLAST_BYTES = 1_500_000
const DOCUMENT_BYTES = 20_000
const FILL_MAX = 1_000

/**
 * Fills a small disk until a write is refused, frees space, and continues. Fails when anything is lost or partially
 * written. It is its own process to prove that a full disk does not end a process. The argument is the directory.
 */
const [directory = ''] = process.argv.slice(2)
const ballast = join(directory, 'ballast')
await writeFile(ballast, Buffer.alloc(BALLAST_BYTES))
const store = await openStore({ database: 'orders', directory, timeout_ms: HANG_LIMIT_MS })
const items = await store.collection<Item>(ITEMS)
const acknowledged_ids = await fill(items)
await expectWhole(items, acknowledged_ids)
await expectNoRoomForBlob(store)
await rm(ballast)
for (let id = FILL_MAX; id < FILL_MAX + 10; id += 1) {
  await items.insert(large(id))
  acknowledged_ids.push(id)
}
await expectWhole(items, acknowledged_ids)
await store.close()
const again = await openStore({ database: 'orders', directory, timeout_ms: HANG_LIMIT_MS })
await expectWhole(await again.collection<Item>(ITEMS), acknowledged_ids)
await again.close()
process.stdout.write('whole\n')

function large(id: number): Item {
  return { shop: 'a', id, rank: id, code: `c${id}`, payload: 'x'.repeat(DOCUMENT_BYTES) }
}

/** Inserts until the disk is full, and returns the acknowledged ids. Inserts several at a time, so that a group fails. */
async function fill(collection: Collection<Item>): Promise<number[]> {
  const acknowledged: number[] = []
  for (let first = 0; first < FILL_MAX; first += 4) {
    const ids = [0, 1, 2, 3].map((at) => first + at)
    const outcomes = await Promise.allSettled(ids.map((id) => collection.insert(large(id))))
    for (const [at, outcome] of outcomes.entries()) {
      if (outcome.status === 'fulfilled') acknowledged.push(first + at)
      else assert(outcome.reason instanceof Unavailable && !(outcome.reason instanceof Ambiguous))
    }
    if (outcomes.some(({ status }) => status === 'rejected')) return acknowledged
  }
  throw new Error('the disk did not become full')
}

async function expectWhole(collection: Collection<Item>, ids: readonly number[]): Promise<void> {
  for (const index of ['key', 'by_rank', 'by_code']) {
    const found = await collection.find(index, { equals: ['a'] }, { limit: 1_000 })
    const seen = found.map(({ id }) => id).sort((left, right) => left - right)
    assert.deepEqual(seen, ids)
  }
}

async function expectNoRoomForBlob(full: Store): Promise<void> {
  const blobs = await full.blobs('files')
  async function* bytes(): AsyncGenerator<Uint8Array> {
    for (let at = 0; at < 100; at += 1) yield Buffer.alloc(100_000)
  }
  await assert.rejects(blobs.put('one', bytes()), Unavailable)
  assert.equal(await blobs.get('one'), undefined)
}
