import { expect, test } from '@jest/globals'
import { installManualClock } from '../../test/support/manual-clock.ts'
import { createKeyedCount, createRate, createSemaphore } from './limit.ts'

test('a count of a key ends at its limit, and each of its parts is given back once', () => {
  const counts = createKeyedCount()
  const first = counts.begin('a', 2)
  counts.begin('a', 2)
  expect(counts.begin('a', 2)).toBeUndefined()
  expect(counts.begin('b', 2)).toBeDefined()
  first?.()
  first?.()
  expect(counts.of('a')).toBe(1)
  expect(counts.begin('a', 2)).toBeDefined()
})

test('a semaphore serves its waiters in order, and refuses who waits too long or beyond the limit', async () => {
  using clock = installManualClock()
  const refuse = () => new Error('refused')
  const semaphore = createSemaphore({ holders_max: 1, waiting_max: 3, refuse })
  expect(semaphore.acquire()).toBeUndefined()
  const served: string[] = []
  const impatient = Promise.allSettled([semaphore.acquire(1_000)])
  const patient = ['b', 'c'].map((name) => semaphore.acquire(5_000)?.then(() => served.push(name)))
  await expect(semaphore.acquire(5_000)).rejects.toThrow('refused')
  await clock.advance(1_000)
  expect(await impatient).toMatchObject([{ status: 'rejected' }])
  semaphore.release()
  await patient[0]
  expect(served).toEqual(['b'])
  semaphore.release()
  await patient[1]
  semaphore.release()
  expect(semaphore.acquire()).toBeUndefined()
})

test('a rate has room again when its window has ended', async () => {
  using clock = installManualClock()
  const rate = createRate(2, 1_000)
  expect([rate.use(), rate.use(), rate.use()]).toEqual([true, true, false])
  await clock.advance(999)
  expect(rate.hasRoom()).toBe(false)
  await clock.advance(1)
  expect(rate.use()).toBe(true)
})
