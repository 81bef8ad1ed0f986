import { expect, test } from '@jest/globals'
import { createScheduler } from './scheduler.ts'

test('events run in the order of their time, and of their addition at the same time', async () => {
  const scheduler = createScheduler()
  const seen: string[] = []
  for (const [time_ms, name] of [
    [5, 'a'],
    [1, 'b'],
    [5, 'c'],
    [0, 'd'],
  ] as const) {
    scheduler.at(time_ms, () => seen.push(`${name} at ${scheduler.now_ms()}`))
  }
  scheduler.at(3, () => seen.push('cancelled')).cancel()
  await scheduler.run(() => false)
  expect(seen).toEqual(['d at 0', 'b at 1', 'a at 5', 'c at 5'])
})

test('all microtasks of an event run before the next event, unless it is quiet', async () => {
  const scheduler = createScheduler()
  const seen: string[] = []
  const later = async (name: string): Promise<void> => {
    for (let turn = 0; turn < 10; turn += 1) await undefined
    seen.push(name)
  }
  scheduler.at(1, () => void later('loud'))
  scheduler.at(2, () => void later('quiet'), true)
  scheduler.at(2, () => void seen.push('last'))
  await scheduler.run(() => false)
  expect(seen).toEqual(['loud', 'last', 'quiet'])
})

test('an event in the past happens now, and the run ends when it is done', async () => {
  const scheduler = createScheduler()
  let count = 0
  const again = (): void => {
    count += 1
    scheduler.at(-1, again)
  }
  scheduler.at(7, again)
  await scheduler.run(() => count === 3)
  expect(count).toBe(3)
  expect(scheduler.now_ms()).toBe(7)
})
