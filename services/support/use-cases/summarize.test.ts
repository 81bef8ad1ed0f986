import { expect, test } from '@jest/globals'
import { useClock } from '#lib/base/time.ts'
import { Unavailable } from '#lib/contract/errors/unavailable.ts'
import type { CountOptions, Range } from '#lib/store/store.ts'
import { createManualClock } from '../../../test/support/manual-clock.ts'
import { createSummary } from './summarize.ts'

const MERCHANT = { merchant_id: '7001', environment: 'test' } as const

/** A count that the store has begun. */
interface BegunCount {
  readonly range: Range
  readonly limit_ms: number
  end(open: number): void
  fail(): void
}

/** A collection whose counts end when the test says so. */
function openCounts() {
  const begun: BegunCount[] = []
  const collection = {
    count(index: string, range: Range, { limit_ms }: CountOptions): Promise<ReadonlyMap<string, number>> {
      expect(index).toBe('summary')
      const { promise, resolve, reject } = Promise.withResolvers<ReadonlyMap<string, number>>()
      const end = (open: number): void => resolve(new Map([['open', open]]))
      begun.push({ range, limit_ms, end, fail: () => reject(new Unavailable('down')) })
      return promise
    },
  }
  return { begun, summarize: createSummary(collection, ['open', 'won']) }
}

const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))

// S11
test('has every status, of the resources that were created in the range', async () => {
  const { begun, summarize } = openCounts()
  const created_from = new Date('2026-11-22T00:00:00Z')
  const created_to = new Date('2026-11-23T00:00:00Z')
  const summary = summarize({ ...MERCHANT, created_from, created_to })
  await settled()
  expect(begun.map(({ range }) => range)).toEqual([
    { equals: ['7001', 'test'], from: created_from, to: created_to },
  ])
  begun[0]?.end(3)
  expect(await summary).toEqual({ open: 3, won: 0 })
})

// S11: a caller that joined a count that had begun would miss its own change.
test('joins no count that has begun, and shares the next one with all that wait for it', async () => {
  const { begun, summarize } = openCounts()
  const first = summarize(MERCHANT)
  await settled()
  const later = [summarize(MERCHANT), summarize(MERCHANT)]
  await settled()
  expect(begun).toHaveLength(1)
  begun[0]?.end(1)
  expect(await first).toEqual({ open: 1, won: 0 })
  await settled()
  const last = summarize(MERCHANT)
  await settled()
  expect(begun).toHaveLength(2)
  begun[1]?.end(2)
  expect(await Promise.all(later)).toEqual([
    { open: 2, won: 0 },
    { open: 2, won: 0 },
  ])
  await settled()
  begun[2]?.end(3)
  expect(await last).toEqual({ open: 3, won: 0 })
})

test('counts one range of a merchant after the other, also after a failure, and other merchants meanwhile', async () => {
  const { begun, summarize } = openCounts()
  const created_from = new Date(0)
  const summaries = [
    summarize(MERCHANT),
    summarize({ ...MERCHANT, created_from }),
    summarize({ ...MERCHANT, environment: 'production' }),
    summarize({ ...MERCHANT, merchant_id: '7002' }),
  ]
  const ends = Promise.allSettled(summaries)
  await settled()
  expect(begun.map(({ range: { equals } }) => equals)).toEqual([
    ['7001', 'test'],
    ['7001', 'production'],
    ['7002', 'test'],
  ])
  begun[0]?.fail()
  await settled()
  expect(begun).toHaveLength(4)
  for (const count of begun.slice(1)) count.end(1)
  expect((await ends).map(({ status }) => status)).toEqual([
    'rejected',
    'fulfilled',
    'fulfilled',
    'fulfilled',
  ])
})

// S11
test('is unavailable after 3 s, and what waits then has the rest of its own 3 s', async () => {
  const clock = createManualClock()
  const restoreClock = useClock(clock)
  try {
    const { begun, summarize } = openCounts()
    const failed = expect(summarize(MERCHANT)).rejects.toThrow(Unavailable)
    await settled()
    expect(begun[0]?.limit_ms).toBe(3_000)
    await clock.advance(2_000)
    const next = summarize(MERCHANT)
    await clock.advance(1_000)
    await failed
    begun[0]?.fail()
    await settled()
    expect(begun[1]?.limit_ms).toBe(2_000)
    begun[1]?.end(1)
    expect(await next).toEqual({ open: 1, won: 0 })
  } finally {
    restoreClock()
  }
})
