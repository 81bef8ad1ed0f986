import { getEventListeners } from 'node:events'
import { afterEach, beforeEach, describe, expect, jest, test } from '@jest/globals'
import { type InstalledClock, installManualClock } from '../../test/support/manual-clock.ts'
import { clock, every, now, sleep, withTimeout } from './time.ts'

let manual: InstalledClock

beforeEach(() => {
  manual = installManualClock()
})
afterEach(() => manual[Symbol.dispose]())

/** Returns a function that says whether the promise has resolved by now. */
function watch(work: Promise<unknown>): () => boolean {
  let is_resolved = false
  void work.then(() => {
    is_resolved = true
  })
  return () => is_resolved
}

describe('sleep', () => {
  test('lasts for the given time', async () => {
    const hasEnded = watch(sleep(100))
    await manual.advance(99)
    expect(hasEnded()).toBe(false)
    await manual.advance(1)
    expect(hasEnded()).toBe(true)
  })

  test('ends at once when its signal is aborted, before or during the sleep', async () => {
    const hasEndedBefore = watch(sleep(100, AbortSignal.abort()))
    const abort = new AbortController()
    const hasEndedDuring = watch(sleep(100, abort.signal))
    await manual.advance(1)
    expect([hasEndedBefore(), hasEndedDuring()]).toEqual([true, false])
    abort.abort()
    await manual.advance(0)
    expect(hasEndedDuring()).toBe(true)
  })

  test('leaves no listener at its signal when it ends by itself', async () => {
    const { signal } = new AbortController()
    const sleeping = sleep(100, signal)
    expect(getEventListeners(signal, 'abort')).toHaveLength(1)
    await manual.advance(100)
    await sleeping
    expect(getEventListeners(signal, 'abort')).toHaveLength(0)
  })
})

describe('withTimeout', () => {
  test('resolves with a result in time and with `undefined` for a late one, and rejects with a failure', async () => {
    expect(await withTimeout(Promise.resolve(1), 10)).toBe(1)
    const late = withTimeout(new Promise(() => {}), 10)
    await manual.advance(10)
    expect(await late).toBeUndefined()
    await expect(withTimeout(Promise.reject(new Error('broken')), 10)).rejects.toThrow('broken')
  })
})

describe('every', () => {
  test('counts the pause from the end of the action', async () => {
    const runs: Date[] = []
    const timer = every(
      100,
      async () => {
        runs.push(now())
        await sleep(50)
      },
      () => {},
    )
    const begin = now().getTime()
    await manual.advance(500)
    timer.cancel()
    await manual.advance(500)
    expect(runs.map((at) => at.getTime() - begin)).toEqual([100, 250, 400])
  })

  test('continues after a failure, which it reports', async () => {
    const failures: unknown[] = []
    const timer = every(
      10,
      async () => {
        throw new Error('no')
      },
      (error) => failures.push(error),
    )
    await manual.advance(30)
    timer.cancel()
    expect(failures).toHaveLength(3)
  })

  test('starts no further action after it was cancelled, also during an action', async () => {
    let runs = 0
    const timer = every(
      10,
      async () => {
        runs += 1
        await sleep(5)
      },
      () => {},
    )
    await manual.advance(12)
    timer.cancel()
    await manual.advance(100)
    expect(runs).toBe(1)
  })
})

test('a delay that is over already is 0, because Node.js warns of a negative one', () => {
  manual[Symbol.dispose]()
  const setTimer = jest.spyOn(globalThis, 'setTimeout')
  clock.after(-1.5, () => {}).cancel()
  clock.after(20, () => {}).cancel()
  expect(setTimer.mock.calls.map(([, delay_ms]) => delay_ms)).toEqual([0, 20])
  setTimer.mockRestore()
})
