import { afterEach, describe, expect, test } from '@jest/globals'
import { isUuid, numericIds, uuidv7 } from './ids.ts'
import { useClock } from './time.ts'

let restore = (): void => {}
afterEach(() => restore())

function stopClockAt(now_ms: number): { now_ms: number } {
  const state = { now_ms }
  restore = useClock({ now_ms: () => state.now_ms, monotonic_ms: () => 0, after: () => ({ cancel() {} }) })
  return state
}

describe('uuidv7', () => {
  test('is a canonical UUID that carries the time', () => {
    stopClockAt(1_800_000_000_123)
    const id = uuidv7()
    expect(isUuid(id)).toBe(true)
    expect(id[14]).toBe('7')
    expect(Number.parseInt(id.slice(0, 8) + id.slice(9, 13), 16)).toBe(1_800_000_000_123)
  })

  test('ids sort in the order of their creation, even when the clock steps back', () => {
    const state = stopClockAt(1_800_000_001_000)
    const ids = []
    for (let i = 0; i < 20_000; i += 1) {
      if (i === 10_000) state.now_ms -= 60_000
      ids.push(uuidv7())
    }
    expect([...ids].sort()).toEqual(ids)
    expect(new Set(ids).size).toBe(ids.length)
  })
})

describe('numericIds', () => {
  test('have 18 digits, and are unique and rising over 100,000 ids in one second', () => {
    stopClockAt(1_800_000_000_000)
    const next = numericIds(7)
    const ids = Array.from({ length: 100_000 }, next)
    expect(ids.every((id) => /^[1-9][0-9]{17}$/.test(id))).toBe(true)
    expect(new Set(ids).size).toBe(ids.length)
    expect(ids).toEqual(ids.toSorted())
    const other = numericIds(8)
    expect(ids.includes(other())).toBe(false)
  })

  test('refuses an instance number out of range', () => {
    expect(() => numericIds(10_000)).toThrow(TypeError)
  })
})
