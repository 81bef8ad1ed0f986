import { describe, expect, test } from '@jest/globals'
import fc from 'fast-check'
import { pageSize, pageToken, positionOf } from './page-token.ts'

const OPEN = { created_at: 'instant', c_id: 'text' } as const
const FIXED = { merchant_id: '7001' }
const not_a_token = expect.objectContaining({ code: 9000, details: { description: 'page_token' } })

/** A reference as long as a merchant may make it (P2). */
const reference = fc.string({ unit: 'grapheme', minLength: 1, maxLength: 64 })
const instant = fc.date({ noInvalidDate: true })

describe('a page token', () => {
  test('gives back the position that it was made of', () => {
    fc.assert(
      fc.property(reference, instant, (c_id, created_at) => {
        const position = { ...FIXED, created_at, c_id }
        expect(positionOf(pageToken(position), FIXED, OPEN)).toEqual(position)
      }),
    )
  })

  test('holds the longest reference there is', () => {
    const position = { ...FIXED, created_at: new Date(), c_id: '\u{1F600}'.repeat(128) }
    expect(positionOf(pageToken(position), FIXED, OPEN)).toEqual(position)
  })

  test('stands for the beginning when it is empty', () => {
    expect(positionOf('', FIXED, OPEN)).toBeUndefined()
  })

  test('is refused when it is any other text', () => {
    const texts = fc.oneof(fc.string(), fc.base64String(), fc.json().map(encode))
    fc.assert(
      fc.property(texts, (text) => {
        fc.pre(text !== '')
        expect(() => positionOf(text, FIXED, OPEN)).toThrow(not_a_token)
      }),
    )
  })

  test.each([
    ['a list', []],
    ['nothing', null],
    ['an instant in words', { ...FIXED, created_at: '2026-11-21', c_id: 'a' }],
    ['an instant that no calendar has', { ...FIXED, created_at: 1e300, c_id: 'a' }],
    ['half a millisecond', { ...FIXED, created_at: 0.5, c_id: 'a' }],
    ['a number for a text', { ...FIXED, created_at: 1, c_id: 1 }],
    ['half of a surrogate pair', { ...FIXED, created_at: 1, c_id: '\ud800' }],
    ['a field less', { ...FIXED, created_at: 1 }],
    ['another list', { merchant_id: '7002', created_at: 1, c_id: 'a' }],
    ['a text that no key can hold', { ...FIXED, created_at: 1, c_id: ' '.repeat(2_000) }],
  ])('is refused when it holds %s', (_what, content) => {
    expect(() => positionOf(encode(JSON.stringify(content)), FIXED, OPEN)).toThrow(not_a_token)
  })
})

test('a page has 25 items unless told otherwise, and 1 to 100', () => {
  expect([pageSize(0), pageSize(1), pageSize(100)]).toEqual([25, 1, 100])
  for (const asked of [-1, 101])
    expect(() => pageSize(asked)).toThrow(expect.objectContaining({ code: 9000 }))
})

function encode(text: string): string {
  return Buffer.from(text).toString('base64url')
}
