import { expect, test } from '@jest/globals'
import { createDueQueue, type DueDelivery, type DueQueue, QUEUED_MAX } from './owned-destination.ts'

const due = (delivery_id: string, try_kind: DueDelivery['try_kind'], due_ms = 0): DueDelivery => ({
  merchant_id: '7001',
  environment: 'test',
  host: 'shop.example.com',
  delivery_id,
  try_kind,
  due_ms,
})

/** Removes what is due next in a kind of try, as the scheduler does; returns its id. */
function take(queue: DueQueue, try_kind: DueDelivery['try_kind'], at_ms = 0): string | undefined {
  const head = queue.head(try_kind, at_ms)
  if (head !== undefined) queue.remove(head)
  return head?.delivery_id
}

test('a kind of try does not wait for the other one', () => {
  const queue = createDueQueue()
  for (const id of ['f1', 'f2']) queue.add(due(id, 'first'))
  for (const id of ['r1', 'r2']) queue.add(due(id, 'retry'))
  const taken = (['retry', 'retry', 'retry', 'first', 'first'] as const).map((try_kind) =>
    take(queue, try_kind),
  )
  expect(taken).toEqual(['r1', 'r2', undefined, 'f1', 'f2'])
})

test('a kind of try is in the order in which its deliveries are due, whatever the order of their arrival', () => {
  const queue = createDueQueue()
  for (const due_ms of [5, 1, 3, 1]) queue.add(due(`${due_ms}`, 'first', due_ms))
  expect(queue.firstDueMs()).toBe(1)
  const taken = Array.from({ length: 3 }, () => take(queue, 'first', 4))
  expect(taken).toEqual(['1', '3', undefined])
  expect(queue.firstDueMs('first')).toBe(5)
  expect(queue.firstDueMs('retry')).toBe(Number.POSITIVE_INFINITY)
})

test('a delivery is in the queue once, and a kind of try has a bounded number', () => {
  const queue = createDueQueue()
  for (let number = 0; number < QUEUED_MAX; number += 1)
    expect(queue.add(due(`${number}`, 'first'))).toBe(true)
  expect(queue.add(due('0', 'first'))).toBe(true)
  expect(queue.add(due('more', 'first'))).toBe(false)
  expect(queue.add(due('more', 'retry'))).toBe(true)
  expect(queue.size('first')).toBe(QUEUED_MAX)
  queue.clear()
  expect([queue.size('first'), take(queue, 'first')]).toEqual([0, undefined])
})
