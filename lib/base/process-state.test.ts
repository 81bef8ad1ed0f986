import { expect, test } from '@jest/globals'
import { processState, useProcessStates } from './process-state.ts'

test('a process has a state once, and simulated processes have their own', () => {
  const count = processState(() => ({ value: 0 }))
  count().value += 1
  expect(count().value).toBe(1)
  const processes = [new Map<object, unknown>(), new Map<object, unknown>()]
  let current = 0
  const restore = useProcessStates(() => processes[current] ?? new Map())
  count().value += 10
  expect(count().value).toBe(10)
  current = 1
  expect(count().value).toBe(0)
  restore()
  expect(count().value).toBe(1)
})
