import { expect, test } from '@jest/globals'
import { createBudget, createKeyedBudget } from './budget.ts'

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
