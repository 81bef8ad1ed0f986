import { describe, expect, test } from '@jest/globals'
import { createBudget, createKeyedBudget, createSharedBudget } from './budget.ts'

test('a budget admits its number of effects, and one more for each release', () => {
  const budget = createBudget(2)
  const [first, second, third] = [budget.reserve({}), budget.reserve({}), budget.reserve({})]
  expect([first, second, third].map((release) => release !== undefined)).toEqual([true, true, false])
  expect(budget.hasRoom()).toBe(false)
  first?.()
  first?.()
  expect(budget.hasRoom()).toBe(true)
  expect(budget.reserve({})).toBeDefined()
  expect(budget.reserve({})).toBeUndefined()
})

test('a keyed budget admits its number of effects for each key', () => {
  const budget = createKeyedBudget(1, ({ account }: { readonly account: string }) => account)
  const release = budget.reserve({ account: 'hanging' })
  expect(budget.hasRoom({ account: 'hanging' })).toBe(false)
  expect(budget.reserve({ account: 'hanging' })).toBeUndefined()
  expect(budget.hasRoom({ account: 'other' })).toBe(true)
  expect(budget.hasRoom()).toBe(true)
  release?.()
  expect(budget.reserve({ account: 'hanging' })).toBeDefined()
})

describe('a shared budget', () => {
  const of = (merchant: string) => ({ merchant })
  const shared = (max: number) => createSharedBudget(max, 2, ({ merchant }: { merchant: string }) => merchant)

  test('admits its share for each key, and its number for all of them', () => {
    const budget = shared(3)
    const release = budget.reserve(of('hanging'))
    expect(budget.reserve(of('hanging'))).toBeDefined()
    expect(budget.hasRoom(of('hanging'))).toBe(false)
    expect(budget.reserve(of('hanging'))).toBeUndefined()
    expect([budget.hasRoom(), budget.hasRoom(of('other'))]).toEqual([true, true])
    expect(budget.reserve(of('other'))).toBeDefined()
    expect([budget.hasRoom(), budget.hasRoom(of('third'))]).toEqual([false, false])
    expect(budget.reserve(of('third'))).toBeUndefined()
    release?.()
    release?.()
    expect(budget.reserve(of('third'))).toBeDefined()
    expect(budget.reserve(of('fourth'))).toBeUndefined()
  })

  test('takes nothing of a share when the total is used up', () => {
    const budget = shared(1)
    const release = budget.reserve(of('first'))
    for (let tries = 0; tries < 3; tries += 1) expect(budget.reserve(of('other'))).toBeUndefined()
    release?.()
    expect(budget.reserve(of('other'))).toBeDefined()
  })

  test('of nothing never has room', () => {
    const budget = shared(0)
    expect([budget.hasRoom(), budget.hasRoom(of('any'))]).toEqual([false, false])
    expect(budget.reserve(of('any'))).toBeUndefined()
  })
})
