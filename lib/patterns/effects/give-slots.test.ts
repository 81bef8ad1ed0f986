import { expect, test } from '@jest/globals'
import type { Collection } from '#lib/store/store.ts'
import {
  defineKind,
  type Item,
  type ItemEffect,
  idleHandler,
  itemWith,
  openItemsForEachTest,
} from './items.fixture.ts'
import { slotOf } from './slots.ts'

const fixture = openItemsForEachTest()

test('the effects of any number of documents without a slot run, and each document has its slot then', async () => {
  const effect = defineKind('do', 'money')
  const names = Array.from({ length: 150 }, (_, number) => `old-${number}`)
  const insert = (name: string) => {
    const { slot: _slot, ...without } = itemWith(name, effect, 90_000)
    return fixture().items.insert(without)
  }
  await Promise.all(names.map(insert))
  const runner = fixture().runner([effect.bind(idleHandler)])
  runner.start()
  for (const name of names) await fixture().untilDone(name)
  const stored = await Promise.all(names.map((item_id) => fixture().items.get({ item_id })))
  expect(stored.map((item) => item?.slot)).toEqual(names.map((item_id) => slotOf({ item_id })))
  await runner.stop()
})

test('documents that cannot be written hide none after them, and stop no other lane', async () => {
  const [money, event] = [defineKind('do', 'money'), defineKind('tell', 'event')]
  const store = async (name: string, effect: ItemEffect, due_since_ms: number) => {
    const { slot: _slot, ...without } = itemWith(name, effect, due_since_ms)
    await fixture().items.insert(without)
  }
  const failing = Array.from({ length: 70 }, (_, number) => `failing-${number}`)
  for (const name of failing) await store(name, money, 90_000)
  await store('after', money, 60_000)
  await store('other', event, 60_000)
  const collection: Collection<Item> = {
    ...fixture().items,
    replace: async (item, version) => {
      if (failing.includes(item.item_id)) throw new Error('it does not fit')
      return await fixture().items.replace(item, version)
    },
  }
  const runner = fixture().runner([money.bind(idleHandler), event.bind(idleHandler)], collection)
  runner.start()
  for (const name of ['after', 'other']) await fixture().untilDone(name)
  await runner.stop()
  expect((await fixture().items.get({ item_id: 'failing-0' }))?.slot).toBeUndefined()
})
