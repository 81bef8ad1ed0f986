import { expect, test } from '@jest/globals'
import { isEditable } from '../../domain/support-resource.ts'

const created_at = new Date('2026-11-22T10:00:00.000Z')

// spec: Limits
test.each([
  [0, true],
  [3_599_999, true],
  [3_600_000, true],
  [3_600_001, false],
])('an item can be edited %i ms after its creation: %s', (elapsed_ms, expected) => {
  const at = new Date(created_at.getTime() + elapsed_ms)
  expect(isEditable({ created_at, edits: [] }, at)).toBe(expected)
})

test('an item can be edited 100 times', () => {
  const edits = Array.from({ length: 100 }, (_, number) => `${number}`)
  expect(isEditable({ created_at, edits: edits.slice(1) }, created_at)).toBe(true)
  expect(isEditable({ created_at, edits }, created_at)).toBe(false)
})
