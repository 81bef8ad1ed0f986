import { describe, expect, test } from '@jest/globals'
import fc from 'fast-check'
import { randomHex } from '#lib/base/crypto/random.ts'
import type { Fields, FindOptions, Range } from '#lib/store/store.ts'
import type { Item, StoreUnderTest } from './store.suite.ts'
import { createModel, type StoreModel } from './store-model.ts'

const RUNS = 100
const STEPS_MAX = 40

const key = fc.constantFrom<Item['id']>(0, 1n, -1, 'a', 'b', '', 'a ', new Date(5))
const rank = fc.option(fc.oneof(fc.integer({ min: -3, max: 3 }), fc.bigInt(-3n, 3n)), { nil: undefined })
const content = fc.record(
  {
    rank: fc.option(rank, { nil: null }),
    code: fc.constantFrom('x', 'y', '𝄞', '\uffee', ''),
    tags: fc.array(fc.constantFrom('t', 'u', 'v'), { maxLength: 3 }),
    serials: fc.array(fc.integer({ min: 0, max: 5 }), { minLength: 1, maxLength: 2 }),
    payload: fc.dictionary(
      fc.stringMatching(/^[a-z]{1,5}$/),
      fc.oneof(
        fc.string({ unit: 'grapheme' }),
        fc.maxSafeInteger(),
        fc.double({ noNaN: true, noDefaultInfinity: true, min: 1 }),
        fc.bigInt(-(2n ** 63n), 2n ** 63n - 1n),
        fc.boolean(),
        fc.date({ noInvalidDate: true }),
      ),
    ),
  },
  { requiredKeys: [] },
)
const bound = fc.option(fc.integer({ min: -3, max: 3 }), { nil: undefined })
const paging = {
  limit: fc.integer({ min: 1, max: 5 }),
  reverse: fc.boolean(),
  after: fc.option(key, { nil: undefined }),
}

const step = fc.oneof(
  { weight: 4, arbitrary: fc.record({ does: fc.constant('insert' as const), id: key, content }) },
  {
    weight: 3,
    arbitrary: fc.record({ does: fc.constant('replace' as const), id: key, content, stale: fc.boolean() }),
  },
  { weight: 1, arbitrary: fc.record({ does: fc.constant('delete' as const), id: key, stale: fc.boolean() }) },
  {
    weight: 2,
    arbitrary: fc.record({ does: fc.constant('byRank' as const), from: bound, to: bound, ...paging }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      does: fc.constant('byText' as const),
      index: fc.constantFrom('by_code', 'key'),
      from: fc.constantFrom(undefined, '', 'a', 'y'),
      ...paging,
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({ does: fc.constant('byTag' as const), tag: fc.constantFrom('t', 'u'), ...paging }),
  },
)
type Step = typeof step extends fc.Arbitrary<infer T> ? T : never

/** Compares random sequences of operations with a simple model of a store. */
export function modelSuite(subject: StoreUnderTest): void {
  describe('model', () => {
    test('any sequence of operations has the same results as the model', async () => {
      const items = await subject.collection()
      await fc.assert(
        fc.asyncProperty(
          fc.array(step, { minLength: 5, maxLength: STEPS_MAX, size: 'max' }),
          async (steps) => {
            const model = createModel()
            // Each run has its own partition.
            const shop = randomHex(6)
            for (const [at, one] of steps.entries()) {
              const call = callOf(one, shop, model)
              const actual = await outcomeOf(() => call(items))
              const expected = await outcomeOf(() => call({ ...model, insert: insertAs(model, actual) }))
              expect({ at, one, outcome: actual }).toEqual({ at, one, outcome: expected })
            }
          },
        ),
        { numRuns: RUNS, interruptAfterTimeLimit: 20_000 },
      )
    })
  })
}

/** Inserts into the model at the first version that the store chose. */
function insertAs(model: StoreModel, actual: unknown): (document: Item) => Item {
  const first_version = (actual as { readonly version?: number } | undefined)?.version ?? 0
  return (document) => model.insert(document, first_version)
}

interface Target {
  insert(document: Item): unknown
  replace(document: Item, expected_version: number): unknown
  delete(key: Fields, expected_version: number): unknown
  find(index: string, range: Range, options: FindOptions): unknown
}

/** Makes the call of a step. Versions and positions come from the model before the step. */
function callOf(one: Step, shop: string, model: StoreModel): (target: Target) => unknown {
  if (one.does === 'byRank' || one.does === 'byText' || one.does === 'byTag') {
    const [index, range] = [indexOf(one), rangeOf(one, shop)]
    const position = one.after === undefined ? undefined : model.get({ shop, id: one.after })
    const listed = position !== undefined && model.find(index, range, { limit: 1_000 }).includes(position)
    const options = { limit: one.limit, reverse: one.reverse, ...(listed ? { after: position } : {}) }
    return (target) => target.find(index, range, options)
  }
  const id = { shop, id: one.id }
  const version = (model.get(id)?.version ?? 1) + ('stale' in one && one.stale ? 1 : 0)
  if (one.does === 'insert') return (target) => target.insert({ ...id, ...one.content })
  if (one.does === 'replace') return (target) => target.replace({ ...id, ...one.content }, version)
  return (target) => target.delete(id, version)
}

function indexOf(one: Step): string {
  if (one.does === 'byText') return one.index
  return one.does === 'byTag' ? 'by_tag' : 'by_rank'
}

function rangeOf(one: Step, shop: string): Range {
  if (one.does === 'byTag') return { equals: [shop, one.tag] }
  const from = 'from' in one && one.from !== undefined ? { from: one.from } : {}
  const to = 'to' in one && one.to !== undefined ? { to: one.to } : {}
  return { equals: [shop], ...from, ...to }
}

async function outcomeOf(work: () => unknown): Promise<unknown> {
  try {
    return await work()
  } catch (error) {
    if (error instanceof Error && 'index' in error) return { refused: error.name, index: error.index }
    return { refused: error instanceof Error ? error.name : error }
  }
}
