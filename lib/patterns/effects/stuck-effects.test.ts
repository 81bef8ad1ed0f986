import { expect, test } from '@jest/globals'
import { defineKind, itemWith, openItemsForEachTest } from './items.fixture.ts'
import { listStuckEffects } from './stuck-effects.ts'

const fixture = openItemsForEachTest()
const START = Date.UTC(2026, 10, 21)

test('lists stuck effects by pages of documents, the longest stuck first', async () => {
  const { items } = fixture()
  const kind = defineKind('post', 'money')
  for (const number of [3, 1, 4, 0, 2]) {
    const item = itemWith(`item-${9 - number}`, kind)
    const effects = item.effects.map((effect) => ({ ...effect, id: `${number}`, tries: 3, stuck: true }))
    await items.insert({ ...item, effects, stuck_at: new Date(START + number) })
  }
  await items.insert(itemWith('item-running', kind))
  const ids: string[] = []
  let page_token = ''
  do {
    const page = await listStuckEffects(items, ['item_id'], { page_size: 2, page_token })
    expect(page.stuck.length).toBeLessThanOrEqual(2)
    ids.push(...page.stuck.map(({ effect }) => effect.id))
    page_token = page.next_page_token
  } while (page_token !== '')
  expect(ids).toEqual(['0', '1', '2', '3', '4'])
})
