import { describe, expect, test } from '@jest/globals'
import fc from 'fast-check'
import {
  checkKeyLength,
  KEY_BYTES_MAX,
  type KeyPart,
  keyPartsText,
  keyPartText,
  textOfKeyPart,
} from './keys.ts'

const text = fc.string({
  unit: fc.constantFrom('\u0000', '\u0001', ' ', '!', '"', '0', 'a', 'é', '\uffee', '𝄞'),
})
const integer = fc.oneof(
  fc.maxSafeInteger(),
  fc.bigInt(-(2n ** 63n), 2n ** 63n - 1n),
  fc.integer({ min: -20, max: 20 }),
)
const part: fc.Arbitrary<KeyPart> = fc.oneof(
  text,
  integer,
  fc.date({ noInvalidDate: true }),
  fc.constant(null),
)

/** The order of MongoDB: null, numbers, strings by their bytes, dates. */
function compare(left: KeyPart, right: KeyPart): number {
  const kind = (value: KeyPart): number =>
    value === null ? 0 : typeof value === 'string' ? 2 : value instanceof Date ? 3 : 1
  if (kind(left) !== kind(right)) return Math.sign(kind(left) - kind(right))
  if (typeof left === 'string') return compareText(left, String(right))
  const [a, b] = [left ?? 0, right ?? 0]
  return a < b ? -1 : a > b ? 1 : 0
}

function compareText(left: string, right: string): number {
  return Buffer.compare(Buffer.from(left), Buffer.from(right))
}

describe('the encoded key', () => {
  test('gives its text back, and no text for other values', () => {
    fc.assert(fc.property(text, (value) => expect(textOfKeyPart(keyPartText(value))).toBe(value)))
    for (const other of [1, new Date(0), null])
      expect(() => textOfKeyPart(keyPartText(other))).toThrow(TypeError)
  })

  test('sorts single values like the values themselves', () => {
    fc.assert(
      fc.property(part, part, (left, right) => {
        expect(compareText(keyPartText(left), keyPartText(right))).toBe(compare(left, right))
      }),
    )
  })

  test('sorts by the first value, then by the next', () => {
    const parts = fc.array(part, { minLength: 3, maxLength: 3 })
    fc.assert(
      fc.property(parts, parts, (left, right) => {
        const first = left.findIndex((value, at) => compare(value, right[at] ?? null) !== 0)
        const order = first < 0 ? 0 : compare(left[first] ?? null, right[first] ?? null)
        expect(compareText(keyPartsText(left), keyPartsText(right))).toBe(order)
      }),
    )
  })

  test('is readable', () => {
    expect(keyPartsText(['m_1', 'production', 42, -7n, new Date(1_000), null])).toBe(
      '=m_1 =production #b42 #Z2 @d1000 "',
    )
    expect(keyPartText('a b!')).toBe('=a!Pb!Q')
  })

  test.each([true, 1.5, Number.NaN, 2 ** 60, '\ud800', {}, new Date(Number.NaN)])('refuses %p', (value) => {
    expect(() => keyPartText(value)).toThrow(TypeError)
  })

  test('bounds the length in bytes, not in characters', () => {
    expect(() => checkKeyLength('x'.repeat(KEY_BYTES_MAX))).not.toThrow()
    expect(() => checkKeyLength('x'.repeat(KEY_BYTES_MAX - 10), 'y'.repeat(10))).toThrow(TypeError)
    expect(() => checkKeyLength('€'.repeat(KEY_BYTES_MAX / 2))).toThrow(TypeError)
  })
})
