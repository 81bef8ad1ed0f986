import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { useClock } from '#lib/base/time.ts'
import { Unavailable } from '#lib/contract/errors/unavailable.ts'
import { Conflict, Duplicate } from '#lib/store/errors.ts'
import type { Collection, Stored } from '#lib/store/store.ts'
import { createManualClock } from '../../test/support/manual-clock.ts'
import { openTestStore, type TestStore } from '../../test/support/store.ts'
import { insertOrGet, update, updateOrDelete, upsert } from './update.ts'

interface Counter {
  readonly group: string
  readonly name: string
  readonly alias: string
  readonly count: number
}

describe('the compare-and-set loop', () => {
  let store: TestStore
  let counters: Collection<Counter>
  let numbered = 0
  let key: { readonly group: string; readonly name: string }

  beforeAll(async () => {
    store = await openTestStore()
    counters = await store.store.collection<Counter>({
      name: 'counters',
      partition: ['group'],
      key: ['group', 'name'],
      indexes: { by_alias: { fields: ['group', 'alias'], unique: true } },
    })
  })
  afterAll(async () => {
    await store[Symbol.asyncDispose]()
  })

  const newKey = (): typeof key => {
    numbered += 1
    return { group: 'g', name: `counter ${numbered}` }
  }
  const plusOne = (current: Stored<Counter>): Counter => ({ ...current, count: current.count + 1 })
  const add = async (count: number): Promise<Stored<Counter>> => {
    key = newKey()
    return counters.insert({ ...key, alias: key.name, count })
  }

  test('writes what was decided and returns the stored document', async () => {
    await add(1)
    const stored = await update(counters, key, plusOne)
    expect(stored).toMatchObject({ count: 2 })
    expect(await counters.get(key)).toEqual(stored)
  })

  test('writes nothing when the decision is "no change"', async () => {
    const before = await add(1)
    expect(await update(counters, key, () => undefined)).toEqual(before)
    expect(await counters.get(key)).toEqual(before)
  })

  test('does not decide on a document that does not exist', async () => {
    const decide = (): never => {
      throw new Error('not called')
    }
    expect(await update(counters, newKey(), decide)).toBeUndefined()
  })

  test('inserts an absent document only through upsert', async () => {
    key = newKey()
    const decide = (current: Counter | undefined): Counter => ({
      ...key,
      alias: key.name,
      count: (current?.count ?? 0) + 1,
    })
    expect(await upsert(counters, key, decide)).toMatchObject({ count: 1 })
    expect(await upsert(counters, key, decide)).toMatchObject({ count: 2 })
    expect(await upsert(counters, newKey(), () => undefined)).toBeUndefined()
  })

  test('loses no change of 50 concurrent writers, the first of which inserts', async () => {
    key = newKey()
    const writers = Array.from({ length: 50 }, () =>
      upsert(counters, key, (current) => ({ ...key, alias: key.name, count: (current?.count ?? 0) + 1 })),
    )
    const counts = (await Promise.all(writers)).map((stored) => stored?.count ?? 0)
    expect(counts.sort((a, b) => a - b)).toEqual(Array.from({ length: 50 }, (_, index) => index + 1))
  })

  test('does not load a document that the caller knows, unless it is out of date', async () => {
    const known = await add(1)
    let loads = 0
    const counting: Pick<Collection<Counter>, 'get' | 'replace'> = {
      get: (wanted) => {
        loads += 1
        return counters.get(wanted)
      },
      replace: (document, version) => counters.replace(document, version),
    }
    expect(await update(counting, key, plusOne, known)).toMatchObject({ count: 2 })
    expect(loads).toBe(0)
    expect(await update(counting, key, plusOne, known)).toMatchObject({ count: 3 })
    expect(loads).toBe(1)
  })

  test('deletes a document only in the version for which that was decided', async () => {
    const known = await add(1)
    await update(counters, key, plusOne)
    const deleteFirst = ({ count }: Counter): 'delete' | undefined => (count === 1 ? 'delete' : undefined)
    await updateOrDelete(counters, key, deleteFirst, known)
    const current = await counters.get(key)
    expect(current).toMatchObject({ count: 2 })
    await updateOrDelete(counters, key, () => 'delete', known)
    expect(await counters.get(key)).toBeUndefined()
  })

  test('inserts once of 50 concurrent creators, and gives all of them that document', async () => {
    key = newKey()
    const results = await Promise.all(
      Array.from({ length: 50 }, (_, count) =>
        insertOrGet(counters, key, { ...key, alias: key.name, count }),
      ),
    )
    expect(results.filter(({ is_new }) => is_new)).toHaveLength(1)
    const stored = await counters.get(key)
    expect(results.map((result) => result.stored)).toEqual(results.map(() => stored))
  })

  test('inserts a new document without a read, and inserts again when the holder of its key is gone', async () => {
    key = newKey()
    let [reads, inserts] = [0, 0]
    const undone: Pick<Collection<Counter>, 'get' | 'insert'> = {
      get: (wanted) => {
        reads += 1
        return counters.get(wanted)
      },
      insert: (document) => {
        inserts += 1
        return inserts === 1 ? Promise.reject(new Duplicate('counters', 'key')) : counters.insert(document)
      },
    }
    const created = await insertOrGet(undone, key, { ...key, alias: key.name, count: 1 })
    expect([created.is_new, reads, inserts]).toEqual([true, 1, 2])
    const other = newKey()
    await insertOrGet(undone, other, { ...other, alias: other.name, count: 1 })
    expect([reads, inserts]).toEqual([1, 3])
  })

  test('throws a duplicate in another index than the key from insertOrGet at once', async () => {
    const { alias } = await add(1)
    const other = newKey()
    await expect(insertOrGet(counters, other, { ...other, alias, count: 1 })).rejects.toBeInstanceOf(
      Duplicate,
    )
  })

  test('tries again five times at once, then waits up to 1, 2, 4 ... 100 ms by chance, and gives up after 100 lost races', async () => {
    const known = await add(1)
    /** What happened, in order: tries, and the pauses between them. */
    const events: ('try' | number)[] = []
    const contended: Pick<Collection<Counter>, 'get' | 'replace'> = {
      get: async () => known,
      async replace() {
        events.push('try')
        throw new Conflict('another writer was faster')
      },
    }
    const restore = useClock({
      ...createManualClock(),
      after(delay_ms, action) {
        events.push(delay_ms)
        setImmediate(action)
        return { cancel: () => {} }
      },
    })
    await expect(update(contended, key, plusOne)).rejects.toBeInstanceOf(Unavailable)
    restore()
    expect(events.slice(0, 6)).toEqual(Array.from({ length: 6 }, () => 'try'))
    const pauses = events.filter((event) => event !== 'try')
    expect([events.length - pauses.length, pauses.length]).toEqual([100, 95])
    const limits = pauses.map((_, at) => Math.min(2 ** at, 100))
    expect(pauses.every((pause_ms, at) => pause_ms <= (limits[at] ?? 0))).toBe(true)
    expect(pauses).not.toEqual(limits)
  })

  test('throws a duplicate in another index than the key at once', async () => {
    const { alias } = await add(1)
    let decisions = 0
    const decide = (): Counter => {
      decisions += 1
      return { ...newKey(), alias, count: 1 }
    }
    await expect(upsert(counters, newKey(), decide)).rejects.toBeInstanceOf(Duplicate)
    expect(decisions).toBe(1)
  })

  test('throws what the decision and the store throw, at once', async () => {
    await add(1)
    const broken = new Error('broken')
    const decide = (): never => {
      throw broken
    }
    await expect(update(counters, key, decide)).rejects.toBe(broken)
    store.setUnavailable(true)
    await expect(update(counters, key, plusOne)).rejects.toBeInstanceOf(Unavailable)
    store.setUnavailable(false)
  })
})
