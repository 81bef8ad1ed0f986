import { describe, expect, test } from '@jest/globals'
import { Duplicate, PrecedingWriteFailed } from '#lib/store/errors.ts'
import { failureOf, type StoreUnderTest } from './store.suite.ts'

/** Inserts that follow another write: `InsertOptions.after`. */
export function orderSuite(subject: StoreUnderTest): void {
  describe('an insert after another write', () => {
    test('takes place when that one succeeds, in another collection too', async () => {
      const [items, others] = await Promise.all([subject.collection(), subject.collection()])
      const first = items.insert({ shop: 'a', id: 1 })
      const second = others.insert({ shop: 'a', id: 2 }, { after: first })
      const third = others.insert({ shop: 'a', id: 3 }, { after: second })
      await third
      expect(await items.get({ shop: 'a', id: 1 })).toBeDefined()
      for (const id of [2, 3]) expect(await others.get({ shop: 'a', id })).toBeDefined()
      await first
    })

    test('does not take place when that one is refused, and names the reason', async () => {
      const items = await subject.collection()
      await items.insert({ shop: 'a', id: 1 })
      const refused = items.insert({ shop: 'a', id: 1 })
      const second = failureOf(items.insert({ shop: 'a', id: 2 }, { after: refused }))
      const refusal = await failureOf(refused)
      expect(refusal).toBeInstanceOf(Duplicate)
      expect(await second).toBeInstanceOf(PrecedingWriteFailed)
      expect(await second).toMatchObject({ cause: refusal })
      expect(await items.get({ shop: 'a', id: 2 })).toBeUndefined()
    })

    test('follows a chain: what comes after a refused insert refuses the next one', async () => {
      const items = await subject.collection()
      await items.insert({ shop: 'a', id: 1 })
      const first = items.insert({ shop: 'a', id: 1 })
      const second = items.insert({ shop: 'a', id: 2 }, { after: first })
      const third = items.insert({ shop: 'a', id: 3 }, { after: second })
      const outcomes = await Promise.allSettled([first, second, third])
      expect(outcomes.map(({ status }) => status)).toEqual(['rejected', 'rejected', 'rejected'])
      expect(outcomes[2]).toMatchObject({ reason: expect.any(PrecedingWriteFailed) })
      expect(await items.get({ shop: 'a', id: 3 })).toBeUndefined()
    })

    test('follows a write that has ended, and a promise that is not one of the store', async () => {
      const items = await subject.collection()
      const written = items.insert({ shop: 'a', id: 1 })
      await written
      await items.insert({ shop: 'a', id: 2 }, { after: written })
      const refused = items.insert({ shop: 'a', id: 1 })
      await failureOf(refused)
      const late = failureOf(items.insert({ shop: 'a', id: 3 }, { after: refused }))
      expect(await late).toBeInstanceOf(PrecedingWriteFailed)
      await items.insert({ shop: 'a', id: 4 }, { after: Promise.resolve() })
      const foreign = Promise.reject(new Error('another failure'))
      const failure = await failureOf(items.insert({ shop: 'a', id: 5 }, { after: foreign }))
      expect(failure).toMatchObject({ name: 'PrecedingWriteFailed', cause: new Error('another failure') })
      const found = await items.find('key', { equals: ['a'] }, { limit: 10 })
      expect(found.map(({ id }) => id)).toEqual([1, 2, 4])
    })
  })
}
