import { describe, expect, test } from '@jest/globals'
import { createEnumMap, requiredMessage, requiredText } from './proto-fields.ts'

const missing = (path: string) => expect.objectContaining({ code: 1005, details: { description: path } })

test('a required text or message is returned, and refused with 1005 when it is missing', () => {
  expect(requiredText('a', 'c_id')).toBe('a')
  expect(() => requiredText('', 'c_id')).toThrow(missing('c_id'))
  const money = { minor: 1n }
  expect(requiredMessage(money, 'amount')).toBe(money)
  expect(() => requiredMessage(undefined, 'amount')).toThrow(missing('amount'))
})

describe('an enum map', () => {
  const statuses = createEnumMap({ active: 1, blocked: 3 })
  const unknownAt = (path: string) =>
    expect.objectContaining({
      code: 9000,
      details: { description: path, reason: 'one of active, blocked' },
    })

  test('maps both ways', () => {
    for (const name of ['active', 'blocked'] as const) {
      const value = statuses.toProto(name)
      expect(statuses.fromProto(value)).toBe(name)
      expect(statuses.required(value, 'status')).toBe(name)
      expect(statuses.optional(value, 'status')).toBe(name)
    }
  })

  test('refuses a missing value with 1005 only where it is required', () => {
    expect(statuses.fromProto(0)).toBeUndefined()
    expect(statuses.optional(0, 'status')).toBeUndefined()
    expect(() => statuses.required(0, 'status')).toThrow(missing('status'))
  })

  test('refuses an unknown value with 9000 and names the known ones', () => {
    expect(statuses.fromProto(2)).toBeUndefined()
    expect(() => statuses.optional(2, 'status')).toThrow(unknownAt('status'))
    expect(() => statuses.required(2, 'status')).toThrow(unknownAt('status'))
  })

  test('names the values of a list, and refuses one with its place', () => {
    expect(statuses.requiredEach([3, 1, 3], 'status')).toEqual(['blocked', 'active', 'blocked'])
    expect(statuses.requiredEach([], 'status')).toEqual([])
    expect(() => statuses.requiredEach([1, 0], 'status')).toThrow(missing('status.1'))
    expect(() => statuses.requiredEach([1, 2], 'status')).toThrow(unknownAt('status.1'))
  })

  test('throws a TypeError for an absent or unknown value of its own system', () => {
    expect(statuses.fromProtoOrThrow(3, 'status')).toBe('blocked')
    for (const value of [0, 2])
      expect(() => statuses.fromProtoOrThrow(value, 'status')).toThrow(
        new TypeError(`unknown status ${value}`),
      )
  })

  test('lists its names', () => {
    expect(statuses.names).toEqual(['active', 'blocked'])
  })
})
