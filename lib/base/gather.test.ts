import { expect, test } from '@jest/globals'
import { createGatherer } from './gather.ts'

const BATCH_MAX = 3

/** A gatherer of words: a batch has words of one first letter, and each result is the word in capitals. */
function gatherWords() {
  const batches: (readonly string[])[] = []
  const shout = createGatherer<string, string>({
    fits: ([first = ''], word) => first[0] === word[0],
    async send(words) {
      batches.push(words)
      return words.map((word) => ({ value: word.toUpperCase() }))
    },
  })
  return { batches, shout }
}

test('each item joins the first batch that it fits, and its caller gets its own result', async () => {
  const { batches, shout } = gatherWords()
  const first = ['a1', 'b1', 'a2', 'b2'].map((word) => shout(word))
  expect(batches).toEqual([])
  expect(await Promise.all(first)).toEqual(['A1', 'B1', 'A2', 'B2'])
  expect(batches).toEqual([
    ['a1', 'a2'],
    ['b1', 'b2'],
  ])
  expect(await shout('a3')).toBe('A3')
  expect(batches).toHaveLength(3)
})

test('an item that a full batch refuses begins the next one', async () => {
  const lengths: number[] = []
  const add = createGatherer<number, number>({
    fits: (batch) => batch.length < BATCH_MAX,
    async send(numbers) {
      lengths.push(numbers.length)
      return numbers.map((value) => ({ value }))
    },
  })
  const numbers = Array.from({ length: 7 }, (_, index) => index)
  expect(await Promise.all(numbers.map((number) => add(number)))).toEqual(numbers)
  expect(lengths).toEqual([3, 3, 1])
})

test('an error, or a result that is left out, concerns its item only', async () => {
  const call = createGatherer<string, string>({
    fits: () => true,
    send: async () => [{ error: new Error('refused') }, { value: 'second' }],
  })
  expect(await Promise.allSettled(['a', 'b', 'c'].map((item) => call(item)))).toMatchObject([
    { reason: { message: 'refused' } },
    { value: 'second' },
    { reason: { message: 'a batch left out the result of an item' } },
  ])
})

test.each([
  [
    'throws',
    (): never => {
      throw new Error('a defect')
    },
  ],
  ['rejects', () => Promise.reject(new Error('a defect'))],
])('a `send` that %s fails its whole batch and no other', async (_how, fail) => {
  const call = createGatherer<string, string>({
    fits: ([first], item) => first === item,
    send: (items) => (items[0] === 'bad' ? fail() : Promise.resolve(items.map((value) => ({ value })))),
  })
  const results = await Promise.allSettled(['bad', 'good', 'bad'].map((item) => call(item)))
  expect(results.map(({ status }) => status)).toEqual(['rejected', 'fulfilled', 'rejected'])
})

test('with a limit of batches under way, a waiting batch takes the items that come meanwhile', async () => {
  const batches: (readonly number[])[] = []
  const sent = Array.from({ length: 2 }, () => Promise.withResolvers<void>())
  const add = createGatherer<number, number>({
    fits: (batch) => batch.length < BATCH_MAX,
    in_flight_max: 1,
    async send(numbers) {
      batches.push(numbers)
      await sent[batches.length - 1]?.promise
      return numbers.map((value) => ({ value }))
    },
  })
  const first = add(0)
  await new Promise(setImmediate)
  const others = [1, 2].map((value) => add(value))
  await new Promise(setImmediate)
  const last = add(3)
  expect(batches).toEqual([[0]])
  sent[0]?.resolve()
  await first
  expect(batches).toEqual([[0], [1, 2, 3]])
  sent[1]?.resolve()
  expect(await Promise.all([...others, last])).toEqual([1, 2, 3])
})
