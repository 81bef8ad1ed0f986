import { expect, test } from '@jest/globals'
import { defineKind, idleHandler, itemWith, openItemsForEachTest } from './items.fixture.ts'
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
