import { expect, test } from '@jest/globals'
import { createGatherer } from './gather.ts'

const outcomesOf = async (results: readonly Promise<unknown>[]): Promise<readonly unknown[]> =>
  (await Promise.allSettled(results)).map((result) =>
    result.status === 'fulfilled' ? result.value : result.reason.message,
  )

test('the items of one turn leave in as few batches as they fit, and each caller gets its own result', async () => {
  const batches: (readonly number[])[] = []
  const gather = createGatherer<number, string>({
    fits: (batch, item) => batch.length < 2 && (batch[0] ?? 0) % 2 === item % 2,
    async send(batch) {
      batches.push(batch)
      return batch.map((item) => (item === 3 ? { error: new Error('refused 3') } : { value: `sent ${item}` }))
    },
  })
  const results = await outcomesOf([1, 2, 3, 4, 5].map(gather))
  expect(results).toEqual(['sent 1', 'sent 2', 'refused 3', 'sent 4', 'sent 5'])
  expect(batches).toEqual([[1, 3], [2, 4], [5]])
  expect(await outcomesOf([gather(7)])).toEqual(['sent 7'])
})

test('an item whose result is left out fails alone, so that no caller takes it for sent', async () => {
  const gather = createGatherer<number, string>({
    fits: () => true,
    send: async ([first]) => [{ value: `sent ${first}` }],
  })
  expect(await outcomesOf([1, 2].map(gather))).toEqual(['sent 1', 'a batch left out the result of an item'])
})

test('a batch that cannot be sent fails for each of its items, and no other batch does', async () => {
  const gather = createGatherer<number, string>({
    fits: (batch, item) => batch[0] === item,
    async send([first]) {
      if (first === 1) throw new Error('not sent')
      return [{ value: 'sent' }]
    },
  })
  expect(await outcomesOf([1, 1, 2].map(gather))).toEqual(['not sent', 'not sent', 'sent'])
})
