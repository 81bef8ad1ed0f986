import { afterEach, beforeEach, describe, expect, test } from '@jest/globals'
import { now } from '#lib/base/time.ts'
import { PublicError } from '#lib/contract/errors/public-error.ts'
import { type InstalledClock, installManualClock, settled } from '../../../test/support/manual-clock.ts'
import {
  CACHE_LIMITS,
  type CachedValue,
  createReadThroughCache,
  type ReadThroughCache,
} from './read-through-cache.ts'

let clock: InstalledClock

beforeEach(() => {
  clock = installManualClock()
})
afterEach(() => clock[Symbol.dispose]())

/** A cache over a registry whose reads wait until the test completes them. */
function heldReads(limits = CACHE_LIMITS, confirmedAt = () => Number.NEGATIVE_INFINITY) {
  const waiting: { key: string; respond: (value: string | undefined) => void; fail: () => void }[] = []
  const read = (key: string): Promise<CachedValue<string> | undefined> =>
    new Promise((resolve, reject) => {
      waiting.push({
        key,
        respond: (value) => resolve(value === undefined ? undefined : { value, merchant_id: '1001' }),
        fail: () => reject(new Error('unavailable')),
      })
    })
  return { waiting, cache: createReadThroughCache(read, confirmedAt, limits) }
}

/** A cache over a registry that returns `values` at once and counts its reads. */
function countedReads(values: Record<string, string>, limits = CACHE_LIMITS, confirmedAt?: () => number) {
  const reads: string[] = []
  const read = async (key: string): Promise<CachedValue<string> | undefined> => {
    reads.push(key)
    const value = values[key]
    return value === undefined ? undefined : { value, merchant_id: '1001' }
  }
  return {
    reads,
    cache: createReadThroughCache(read, confirmedAt ?? (() => Number.NEGATIVE_INFINITY), limits),
  }
}

/** The ways to drop the value of a key; its merchant is 1001. */
const DROPS = {
  drop: (cache: ReadThroughCache<string>, key: string) => cache.drop(key),
  dropMerchants: (cache: ReadThroughCache<string>) => cache.dropMerchants(['1001']),
  dropAll: (cache: ReadThroughCache<string>) => cache.dropAll(),
}

describe('reading', () => {
  test('shares one read between concurrent callers, and serves later callers from the cache', async () => {
    const { waiting, cache } = heldReads()
    const responses = [cache.get('a'), cache.get('a'), cache.get('a')]
    waiting[0]?.respond('one')
    expect(await Promise.all(responses)).toEqual(['one', 'one', 'one'])
    expect(await cache.get('a')).toBe('one')
    expect(waiting).toHaveLength(1)
  })

  test('refuses all callers of a failed read with 2002, and reads again for the next caller', async () => {
    const { waiting, cache } = heldReads()
    const responses = [cache.get('a'), cache.get('a')]
    waiting[0]?.fail()
    for (const response of responses) await expect(response).rejects.toMatchObject({ code: 2002 })
    const again = cache.get('a')
    waiting[1]?.respond('one')
    expect(await again).toBe('one')
  })

  test('runs no more reads at once than the limit, and queues the next one', async () => {
    const { waiting, cache } = heldReads({ ...CACHE_LIMITS, concurrency_max: 2 })
    const keys = ['a', 'b', 'c', 'd', 'c']
    const outcomes = Promise.allSettled(keys.map((key) => cache.get(key)))
    await settled()
    expect(waiting.map(({ key }) => key)).toEqual(['a', 'b'])
    waiting[1]?.respond('two')
    await settled()
    expect(waiting.map(({ key }) => key)).toEqual(['a', 'b', 'c'])
    waiting[0]?.fail()
    waiting[2]?.respond('three')
    await settled()
    waiting[3]?.respond('four')
    expect(await outcomes).toMatchObject([
      { reason: { code: 2002 } },
      ...['two', 'three', 'four', 'three'].map((value) => ({ value })),
    ])
  })

  test('counts the age of a queued read from its start, not from its call', async () => {
    const { waiting, cache } = heldReads({ ...CACHE_LIMITS, concurrency_max: 1 })
    const responses = [cache.get('a'), cache.get('b')]
    await clock.advance(1_500)
    waiting[0]?.respond('one')
    await settled()
    waiting[1]?.respond('two')
    await Promise.all(responses)
    await clock.advance(59_000)
    expect(await cache.get('b')).toBe('two')
    void cache.get('a')
    expect(waiting).toHaveLength(3)
  })

  test.each(['drop', 'dropMerchants', 'dropAll'] as const)(
    'a queued read sees the change of a later %s, so its value is shared and cached',
    async (how) => {
      const { waiting, cache } = heldReads({ ...CACHE_LIMITS, concurrency_max: 1 })
      const responses = [cache.get('a'), cache.get('b')]
      DROPS[how](cache, 'b')
      responses.push(cache.get('b'))
      waiting[0]?.respond('one')
      await settled()
      waiting[1]?.respond('two')
      expect(await Promise.all([...responses, cache.get('b')])).toEqual(['one', 'two', 'two', 'two'])
      expect(waiting).toHaveLength(2)
    },
  )

  test('invalidates a queued read that has started, like any other', async () => {
    const { waiting, cache } = heldReads({ ...CACHE_LIMITS, concurrency_max: 1 })
    const responses = [cache.get('a'), cache.get('b')]
    waiting[0]?.respond('one')
    await settled()
    cache.drop('b')
    waiting[1]?.respond('old')
    await Promise.all(responses)
    const later = cache.get('b')
    waiting[2]?.respond('new')
    expect(await later).toBe('new')
  })

  test('refuses a caller beyond the queue limit with 2002 at once, and serves the others', async () => {
    const { waiting, cache } = heldReads({ ...CACHE_LIMITS, concurrency_max: 1, waiting_max: 1 })
    const responses = [cache.get('a'), cache.get('b')]
    await expect(cache.get('c')).rejects.toBeInstanceOf(PublicError)
    waiting[0]?.respond('one')
    await settled()
    waiting[1]?.respond('two')
    expect(await Promise.all(responses)).toEqual(['one', 'two'])
    const again = cache.get('c')
    waiting[2]?.respond('three')
    expect(await again).toBe('three')
  })

  test('does not start a read that was queued for too long', async () => {
    const { waiting, cache } = heldReads({ ...CACHE_LIMITS, concurrency_max: 1 })
    const responses = Promise.allSettled([cache.get('a'), cache.get('b'), cache.get('c')])
    await clock.advance(1_000)
    const later = cache.get('d')
    await clock.advance(1_001)
    waiting[0]?.fail()
    const refused = { status: 'rejected', reason: { code: 2002 } }
    expect(await responses).toMatchObject([refused, refused, refused])
    await settled()
    expect(waiting.map(({ key }) => key)).toEqual(['a', 'd'])
    waiting[1]?.respond('four')
    expect(await later).toBe('four')
  })
})

describe('changes', () => {
  test('neither caches nor joins a read during which the key changed', async () => {
    const { waiting, cache } = heldReads()
    const before = cache.get('a')
    cache.drop('a')
    const after = cache.get('a')
    expect(waiting).toHaveLength(2)
    waiting[1]?.respond('new')
    await settled()
    waiting[0]?.respond('old')
    expect(await Promise.all([before, after])).toEqual(['old', 'new'])
    expect(await cache.get('a')).toBe('new')
  })

  test.each(['drop', 'dropMerchants', 'dropAll'] as const)(
    'a value whose read was in progress at %s is not cached',
    async (how) => {
      const { waiting, cache } = heldReads()
      const before = cache.get('a')
      DROPS[how](cache, 'a')
      waiting[0]?.respond('old')
      await before
      void cache.get('a')
      expect(waiting).toHaveLength(2)
    },
  )

  test('drops only the values of the merchant that changed', async () => {
    const { reads, cache } = countedReads({ a: 'one' })
    await cache.get('a')
    cache.dropMerchants(['2002'])
    await cache.get('a')
    cache.dropMerchants(['1001'])
    await cache.get('a')
    expect(reads).toEqual(['a', 'a'])
  })
})

describe('age', () => {
  test('serves an unconfirmed value for less than 60 s from the start of its read', async () => {
    const { waiting, cache } = heldReads()
    const first = cache.get('a')
    await clock.advance(1_500)
    waiting[0]?.respond('one')
    await first
    await clock.advance(58_499)
    expect(await cache.get('a')).toBe('one')
    await clock.advance(1)
    const second = cache.get('a')
    waiting[1]?.fail()
    await expect(second).rejects.toMatchObject({ code: 2002 })
  })

  test('serves a confirmed value longer, and refreshes it in the background after 60 s', async () => {
    let confirmed_ms = 0
    const values: Record<string, string> = { a: 'one' }
    const { reads, cache } = countedReads(values, CACHE_LIMITS, () => confirmed_ms)
    await cache.get('a')
    await clock.advance(59_999)
    confirmed_ms = clock.monotonic_ms()
    await cache.get('a')
    expect(reads).toHaveLength(1)
    values['a'] = 'two'
    await clock.advance(1)
    expect(await cache.get('a')).toBe('one')
    await settled()
    expect(await cache.get('a')).toBe('two')
    expect(reads).toHaveLength(2)
  })

  test('keeps the value when a refresh fails, and does not retry at every request', async () => {
    const { waiting, cache } = heldReads(CACHE_LIMITS, () => clock.monotonic_ms())
    const first = cache.get('a')
    waiting[0]?.respond('one')
    await first
    await clock.advance(60_000)
    await cache.get('a')
    waiting[1]?.fail()
    await settled()
    expect(await cache.get('a')).toBe('one')
    expect(waiting).toHaveLength(2)
    await clock.advance(1_000)
    await cache.get('a')
    expect(waiting).toHaveLength(3)
  })

  test('caches an unknown key for one second while the merchants service is unreachable', async () => {
    const { reads, cache } = countedReads({})
    await cache.get('a')
    await clock.advance(999)
    expect(await cache.get('a')).toBeUndefined()
    expect(reads).toHaveLength(1)
    await clock.advance(1)
    await cache.get('a')
    expect(reads).toHaveLength(2)
  })

  test('caches an unknown key until it changes, for at most a minute, while the merchants service is reachable', async () => {
    const values: Record<string, string> = {}
    const { reads, cache } = countedReads(values, CACHE_LIMITS, () => clock.monotonic_ms())
    await cache.get('a')
    values['a'] = 'one'
    await clock.advance(59_999)
    expect(await cache.get('a')).toBeUndefined()
    expect(reads).toHaveLength(1)
    await clock.advance(1)
    expect(await cache.get('a')).toBe('one')
    await cache.get('b')
    values['b'] = 'two'
    cache.drop('b')
    expect(await cache.get('b')).toBe('two')
    await cache.get('c')
    values['c'] = 'three'
    cache.dropAll()
    expect(await cache.get('c')).toBe('three')
  })

  test('reads an unknown key again soon after the merchants service became unreachable', async () => {
    const values: Record<string, string> = {}
    const { cache } = countedReads(values, CACHE_LIMITS, () => 0)
    await cache.get('a')
    values['a'] = 'one'
    await clock.advance(3_000)
    expect(await cache.get('a')).toBeUndefined()
    await clock.advance(1)
    expect(await cache.get('a')).toBe('one')
  })
})

describe('room', () => {
  test('evicts the least recently used value', async () => {
    const { reads, cache } = countedReads({ a: '1', b: '2', c: '3' }, { ...CACHE_LIMITS, present_max: 2 })
    for (const key of ['a', 'b', 'a', 'c', 'a', 'b']) await cache.get(key)
    expect(reads).toEqual(['a', 'b', 'c', 'b'])
  })

  test('evicts no value for unknown keys', async () => {
    const limits = { ...CACHE_LIMITS, present_max: 2, absent_max: 10 }
    const { reads, cache } = countedReads({ a: '1' }, limits)
    await cache.get('a')
    for (let id = 0; id < 1_000; id += 1) await cache.get(`unknown ${id}`)
    expect(reads).toHaveLength(1_001)
    await cache.get('a')
    await cache.get('unknown 999')
    expect(reads).toHaveLength(1_001)
    await cache.get('unknown 989')
    expect(reads).toHaveLength(1_002)
  })
})

describe('getReadAfter', () => {
  test('reads a value again when it was read before the instant, and serves one that was read well after it', async () => {
    const { reads, cache } = countedReads({ a: '1' })
    await cache.get('a')
    await clock.advance(2_000)
    const happened = now()
    await cache.getReadAfter('a', happened)
    expect(reads).toHaveLength(2)
    await clock.advance(2_000)
    await cache.getReadAfter('a', now())
    await cache.getReadAfter('a', happened)
    expect(reads).toHaveLength(3)
  })

  test('does not join a read that began before the call, and shares one that is still planned', async () => {
    const { waiting, cache } = heldReads()
    const before = cache.get('a')
    const since = [cache.getReadAfter('a', now()), cache.getReadAfter('a', now())]
    await settled()
    expect(waiting).toHaveLength(1)
    waiting[0]?.respond('old')
    await clock.advance(50)
    expect(waiting).toHaveLength(2)
    waiting[1]?.respond('new')
    expect(await Promise.all([before, ...since])).toEqual(['old', 'new', 'new'])
  })

  test('reads at most once per 10 ms for many events in a row', async () => {
    const { reads, cache } = countedReads({ a: '1' })
    await cache.get('a')
    const responses: Promise<unknown>[] = []
    for (let event = 0; event < 500; event += 1) {
      responses.push(cache.getReadAfter('a', now()))
      await clock.advance(1)
    }
    await clock.advance(50)
    await Promise.all(responses)
    expect(reads.length).toBeGreaterThan(25)
    expect(reads.length).toBeLessThanOrEqual(52)
  })
})
