import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals'
import { useClock } from '#lib/base/time.ts'
import { Unavailable } from '#lib/contract/errors/unavailable.ts'
import { openStore } from '#lib/store/open.ts'
import type { Collection, Stored } from '#lib/store/store.ts'
import { createAdjustableClock } from '../support/adjustable-clock.ts'
import { HANG_LIMIT_MS } from '../support/hang-limit.ts'
import { CRASH_COLLECTION, type CrashItem, crashItem } from './store-crash.items.ts'

const ROUNDS = 4
/** How many writes of a writer must be acknowledged before it is killed. */
const ACKNOWLEDGED_MIN = 400

/** For each id, its last acknowledged write: `1` or `2`, or `gone` for the deletion that can follow. */
type AcknowledgedWrites = Map<string, string>

describe('the embedded store after kill -9', () => {
  let directory: string
  let children: ChildProcess[]
  beforeEach(async () => {
    directory = await mkdtemp(join(tmpdir(), 'store-crash-'))
    children = []
  })
  afterEach(async () => {
    for (const child of children) child.kill('SIGKILL')
    await rm(directory, { recursive: true, force: true })
  })

  /** Starts a writer. Resolves after `count` acknowledged writes; later ones are recorded too. */
  async function startWriter(
    name: string,
    count: number,
    acknowledged: AcknowledgedWrites,
  ): Promise<ChildProcess> {
    const program = join(import.meta.dirname, 'store-crash.child.ts')
    const child = spawn(process.execPath, [program, directory, name], {
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    children.push(child)
    let lines = 0
    await new Promise<void>((resolve, reject) => {
      child.once('exit', () => reject(new Error('the writer ended by itself')))
      createInterface({ input: child.stdout }).on('line', (line) => {
        const [id = '', writes = ''] = line.split(' ')
        acknowledged.set(id, writes)
        lines += 1
        if (lines === count) resolve()
      })
    })
    return child
  }

  async function kill(child: ChildProcess): Promise<void> {
    const ended = once(child, 'close')
    child.kill('SIGKILL')
    await ended
  }

  test('has every acknowledged write completely, with its index entries', async () => {
    const acknowledged: AcknowledgedWrites = new Map()
    for (let round = 0; round < ROUNDS; round += 1) {
      // Two at a time: one is killed while the other continues.
      const [first, second] = await Promise.all([
        startWriter(`first${round}`, ACKNOWLEDGED_MIN, acknowledged),
        startWriter(`second${round}`, ACKNOWLEDGED_MIN, acknowledged),
      ])
      await kill(first)
      await kill(second)
    }
    const store = await openStore({ database: 'orders', directory, timeout_ms: HANG_LIMIT_MS })
    const items = await store.collection<CrashItem>(CRASH_COLLECTION)
    const found = new Map((await all(items, 'key')).map((item) => [item.id, item]))
    for (const [id, writes] of acknowledged) {
      const item = found.get(id)
      // The write after the acknowledged one may have happened too. After the second write, that is the deletion.
      if (writes === 'gone') expect({ id, item }).toEqual({ id, item: undefined })
      else if (item === undefined) expect({ id, writes }).toEqual({ id, writes: '2' })
      else expect(item.rank).toBeGreaterThanOrEqual(Number(writes))
    }
    for (const item of found.values())
      expect(item).toEqual({ ...crashItem(item.id, item.rank), version: item.version })
    // Two writers per round, and at most three writes per id.
    expect(acknowledged.size).toBeGreaterThanOrEqual((2 * ROUNDS * ACKNOWLEDGED_MIN) / 3)
    await expectIndexesToAgree(items, found)
    await store.close()
  }, 600_000)

  test('does not block other writers beyond the time limit when one writer is stopped', async () => {
    const store = await openStore({ database: 'orders', directory, timeout_ms: HANG_LIMIT_MS })
    const items = await store.collection<CrashItem>(CRASH_COLLECTION)
    const child = await startWriter('stopped', 50, new Map())
    const adjustable = createAdjustableClock()
    const restore = useClock(adjustable)
    for (let at = 0; at < 5; at += 1) {
      // Only writes that wait for the stopped writer have to reach the time limit.
      adjustable.setRate(100)
      child.kill('SIGSTOP')
      const outcomes = await Promise.allSettled([
        items.insert(crashItem(`mine-${at}`, 1)),
        items.insert(crashItem(`mine-too-${at}`, 1)),
      ])
      for (const outcome of outcomes) {
        if (outcome.status === 'rejected') expect(outcome.reason).toBeInstanceOf(Unavailable)
      }
      expect(await items.get({ shop: 'a', id: 'absent' })).toBeUndefined()
      child.kill('SIGCONT')
      adjustable.setRate(1)
      await writeUntilDone(items, `after-${at}`)
    }
    restore()
    await kill(child)
    await store.close()
  })
})

async function writeUntilDone(items: Collection<CrashItem>, id: string): Promise<void> {
  while ((await items.get({ shop: 'a', id })) === undefined) {
    await items.insert(crashItem(id, 1)).catch((error: unknown) => {
      if (!(error instanceof Unavailable)) throw error
    })
  }
}

async function expectIndexesToAgree(
  items: Collection<CrashItem>,
  found: ReadonlyMap<string, Stored<CrashItem>>,
): Promise<void> {
  const ids = [...found.keys()].sort()
  for (const index of ['by_rank', 'by_code']) {
    expect((await all(items, index)).map(({ id }) => id).sort()).toEqual(ids)
  }
  for (const { id, rank } of found.values()) {
    for (const tag of crashItem(id, rank).tags) {
      const tagged = await items.find('by_tag', { equals: ['a', tag] }, { limit: 10 })
      expect(tagged.map((item) => item.id)).toEqual([id])
    }
    const earlier = await items.find('by_tag', { equals: ['a', `${id}@${rank - 1}`] }, { limit: 10 })
    expect(earlier).toEqual([])
  }
}

async function all(items: Collection<CrashItem>, index: string): Promise<Stored<CrashItem>[]> {
  const found: Stored<CrashItem>[] = []
  let page: Stored<CrashItem>[] = []
  do {
    const after = page.at(-1)
    page = await items.find(index, { equals: ['a'] }, { limit: 1_000, ...(after && { after: { ...after } }) })
    found.push(...page)
  } while (page.length > 0)
  return found
}
