import { expect, test } from '@jest/globals'
import fc from 'fast-check'
import { PublicError } from '#lib/errors/public-error.ts'
import { DEPTH_MAX, type Json, parseJson } from './parse.ts'

const parse = (text: string | Buffer): Json => parseJson(Buffer.from(text))
const nested = (depth: number, inner = ''): string => '['.repeat(depth) + inner + ']'.repeat(depth)

test.each([
  ['nothing', ''],
  ['blanks', ' \n'],
  ['not JSON', '{"a":}'],
  ['a trailing comma', '{"a":1,}'],
  ['a comment', '{"a":1}//'],
  ['two documents', '{} {}'],
  ['a byte order mark', '\uFEFF{}'],
  ['a byte that is not UTF-8', Buffer.from([0x7b, 0x22, 0xff, 0x22, 0x3a, 0x31, 0x7d])],
  ['an overlong encoding', Buffer.from([0x22, 0xc0, 0xaf, 0x22])],
  ['a surrogate in UTF-8', Buffer.from([0x22, 0xed, 0xa0, 0x80, 0x22])],
  ['UTF-16', Buffer.from('{}', 'utf16le')],
  ['a leading zero', '{"a":01}'],
  ['a plus sign', '{"a":+1}'],
  ['a bare point', '{"a":.5}'],
  ['NaN', '{"a":NaN}'],
  ['a raw control character in a text', '{"a":"\u0001"}'],
  ['a duplicate key', '{"a":1,"a":1}'],
  ['a duplicate key in another spelling', '{"method":1,"m\\u0065thod":2}'],
  ['a duplicate key far inside', '{"x":[{"y":{"a":1,"b":2,"a":3}}]}'],
  ['a duplicate __proto__', '{"__proto__":1,"__proto__":2}'],
  ['a duplicate empty key', '{"":1,"":2}'],
  ['33 levels of arrays', nested(DEPTH_MAX + 1)],
  ['33 levels of objects', '{"a":'.repeat(33) + 1 + '}'.repeat(33)],
  ['100,000 levels', nested(100_000)],
  ['an open text', '"'],
  ['an open escape', '"\\'],
])('refuses %s as 1005 at body', (_what, text) => {
  expect(() => parse(text)).toThrow(expect.objectContaining({ code: 1005, details: { description: 'body' } }))
})

test.each([
  ['32 levels', nested(DEPTH_MAX)],
  ['brackets in texts', `["${'['.repeat(99)}","\\"{{{","\\\\"]`],
  ['colons in texts', '{"a:b":":","c":"\\":"}'],
  ['the same key in two objects', '[{"a":1},{"a":{"a":1}}]'],
  ['keys that differ in case', '{"a":1,"A":2}'],
  ['blanks everywhere', ' { "a" : [ 1 , 2 ] } '],
])('takes %s', (_what, text) => {
  expect(parse(text)).toEqual(JSON.parse(text))
})

test.each<[string, Json]>([
  ['0', 0],
  ['-0', -0],
  ['-1', -1],
  ['123456789012345', 123_456_789_012_345],
  ['9007199254740991', 9_007_199_254_740_991],
  ['9007199254740992', 9_007_199_254_740_992n],
  ['9007199254740993', 9_007_199_254_740_993n],
  ['-9007199254740993', -9_007_199_254_740_993n],
  ['9223372036854775808', 2n ** 63n],
  ['100.0', Number.NaN],
  ['1e2', Number.NaN],
  ['1E2', Number.NaN],
  ['1e400', Number.NaN],
  ['1e-2', Number.NaN],
  ['-0.0', Number.NaN],
  ['0.5', Number.NaN],
])('reads the literal %s exactly', (literal, value) => {
  expect(parse(literal)).toBe(value)
  expect(parse(`{"a":[${literal},true]}`)).toEqual({ a: [value, true] })
  expect(parse(` ${literal} `)).toBe(value)
})

test('reads a megabyte of digits in no time worth mentioning', () => {
  expect(parse('9'.repeat(1_000_000))).toBeGreaterThan(2n ** 63n)
})

test('keeps prototype keys as plain properties of the object', () => {
  const value = parse('{"__proto__":{"polluted":1},"constructor":2,"toString":3,"n":1.5}')
  expect(Object.getPrototypeOf(value)).toBe(Object.prototype)
  expect(Object.keys(value as object)).toEqual(['__proto__', 'constructor', 'toString', 'n'])
  expect(Object.hasOwn(Object.prototype, 'polluted')).toBe(false)
})

test('agrees with JSON.parse on every document, numbers aside, which it tells by their literals', () => {
  const exact = (value: number): Json => {
    if (!/^-?\d+$/.test(String(value))) return Number.NaN
    return Number.isSafeInteger(value) ? value : BigInt(String(value))
  }
  const documents = fc.jsonValue({ maxDepth: 10 }).map((value) => JSON.stringify(value))
  fc.assert(
    fc.property(documents, (text) => {
      const expected: unknown = JSON.parse(text, (_key, value) =>
        typeof value === 'number' ? exact(value) : value,
      )
      expect(parse(text)).toEqual(expected)
    }),
    { numRuns: 2000 },
  )
})

test('finds a duplicate wherever it is put', () => {
  const object = fc.dictionary(fc.string({ minLength: 1 }), fc.integer(), { minKeys: 1, maxKeys: 40 })
  fc.assert(
    fc.property(object, fc.nat(), fc.boolean(), (fields, pick, escaped) => {
      const keys = Object.keys(fields)
      const key = keys[pick % keys.length] ?? ''
      const spelled = escaped
        ? [...Array(key.length).keys()]
            .map((at) => `\\u${key.charCodeAt(at).toString(16).padStart(4, '0')}`)
            .join('')
        : JSON.stringify(key).slice(1, -1)
      const text = JSON.stringify(fields)
      expect(parse(text)).toEqual(JSON.parse(text))
      expect(() => parse(`${text.slice(0, -1)},"${spelled}":0}`)).toThrow(PublicError)
    }),
  )
})

test('says 1005 or a value to any bytes, and nothing else', () => {
  const json_like = fc.string({
    unit: fc.constantFrom(...'[]{}",:019eE.-\\utrfalsn \0\u0800'),
    maxLength: 80,
  })
  const bytes = fc.oneof(
    fc.uint8Array({ maxLength: 200 }).map((array) => Buffer.from(array)),
    json_like.map((text) => Buffer.from(text)),
  )
  fc.assert(
    fc.property(bytes, (body) => {
      try {
        parseJson(body)
      } catch (error) {
        expect(error).toMatchObject({ code: 1005, details: { description: 'body' } })
      }
    }),
    { numRuns: 5000 },
  )
})
