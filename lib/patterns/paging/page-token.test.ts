import { describe, expect, test } from '@jest/globals'
import fc from 'fast-check'
import { decodePageToken, encodePageToken } from './read-page.ts'

const FIELDS = { created_at: 'instant', c_id: 'text' } as const
const FIXED = { merchant_id: '7001' }
const not_a_token = expect.objectContaining({ code: 9000, details: { description: 'page_token' } })

/** The longest reference that a merchant may use (P2). */
const reference = fc.string({ unit: 'grapheme', minLength: 1, maxLength: 64 })
const instant = fc.date({ noInvalidDate: true })

describe('a page token', () => {
  test('decodes to the position that was encoded', () => {
    fc.assert(
      fc.property(reference, instant, (c_id, created_at) => {
        const position = { ...FIXED, created_at, c_id }
        expect(decodePageToken(encodePageToken(position), FIXED, FIELDS)).toEqual(position)
      }),
    )
  })

  test('can hold the longest reference of a merchant', () => {
    const position = { ...FIXED, created_at: new Date(), c_id: '\u{1F600}'.repeat(128) }
    expect(decodePageToken(encodePageToken(position), FIXED, FIELDS)).toEqual(position)
  })

  test('carries integers and 64-bit integers exactly', () => {
    const fields = { seq: 'int64', position: 'integer' } as const
    const position = { ...FIXED, seq: 2n ** 63n - 1n, position: 7 }
    expect(decodePageToken(encodePageToken(position), FIXED, fields)).toEqual(position)
    for (const wrong of [
      { seq: '0' },
      { seq: `${2n ** 63n}` },
      { seq: 1 },
      { position: 0.5 },
      { position: '1' },
    ]) {
      const content = { ...FIXED, seq: '1', position: 1, ...wrong }
      expect(() => decodePageToken(encode(JSON.stringify(content)), FIXED, fields)).toThrow(not_a_token)
    }
  })

  test('has one spelling', () => {
    const token = encodePageToken({ ...FIXED, c_id: 'ab', created_at: new Date(0) })
    const spellings = [`${token}=`, `${token.slice(0, 4)}\n${token.slice(4)}`, `${token}!`]
    for (const other of spellings) {
      expect(Buffer.from(other, 'base64url')).toEqual(Buffer.from(token, 'base64url'))
      expect(() => decodePageToken(other, FIXED, FIELDS)).toThrow(not_a_token)
    }
  })

  test('is the beginning of the list when it is empty', () => {
    expect(decodePageToken('', FIXED, FIELDS)).toBeUndefined()
  })

  test('is refused when it was not made by this function', () => {
    const texts = fc.oneof(fc.string(), fc.base64String(), fc.json().map(encode))
    fc.assert(
      fc.property(texts, (text) => {
        fc.pre(text !== '')
        expect(() => decodePageToken(text, FIXED, FIELDS)).toThrow(not_a_token)
      }),
    )
  })

  test.each([
    ['a list', []],
    ['null', null],
    ['an instant as text', { ...FIXED, created_at: '2026-11-21', c_id: 'a' }],
    ['an instant outside the range of dates', { ...FIXED, created_at: 1e300, c_id: 'a' }],
    ['a fraction of a millisecond', { ...FIXED, created_at: 0.5, c_id: 'a' }],
    ['a number in place of a text', { ...FIXED, created_at: 1, c_id: 1 }],
    ['half of a surrogate pair', { ...FIXED, created_at: 1, c_id: '\ud800' }],
    ['too few fields', { ...FIXED, created_at: 1 }],
    ['the fields of another list', { merchant_id: '7002', created_at: 1, c_id: 'a' }],
    ['a text that is too long for a key', { ...FIXED, created_at: 1, c_id: ' '.repeat(2_000) }],
  ])('is refused when it holds %s', (_what, content) => {
    expect(() => decodePageToken(encode(JSON.stringify(content)), FIXED, FIELDS)).toThrow(not_a_token)
  })
})

function encode(text: string): string {
  return Buffer.from(text).toString('base64url')
}
