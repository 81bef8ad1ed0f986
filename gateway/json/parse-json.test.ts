import { expect, test } from '@jest/globals'
import fc from 'fast-check'
import { PublicError } from '#lib/contract/errors/public-error.ts'
import { propertyRuns } from '../../test/support/property-runs.ts'
import { DEPTH_MAX, type Json, parseJson, VALUES_MAX } from './parse-json.ts'

const parse = (text: string | Buffer): Json => parseJson(Buffer.from(text))
const many = (count: number, textOf: (index: number) => string): string[] =>
  Array.from({ length: count }, (_, index) => textOf(index))
const nested = (depth: number, inner = ''): string => '['.repeat(depth) + inner + ']'.repeat(depth)

test.each([
  ['an empty body', ''],
  ['white space only', ' \n'],
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
  ['a raw control character in a string', '{"a":"\u0001"}'],
  ['a duplicate key', '{"a":1,"a":1}'],
  ['a duplicate key in another spelling', '{"method":1,"m\\u0065thod":2}'],
  ['a duplicate key far inside', '{"x":[{"y":{"a":1,"b":2,"a":3}}]}'],
  ['a duplicate __proto__', '{"__proto__":1,"__proto__":2}'],
  ['a duplicate empty key', '{"":1,"":2}'],
  ['33 levels of arrays', nested(DEPTH_MAX + 1)],
  ['33 levels of objects', '{"a":'.repeat(33) + 1 + '}'.repeat(33)],
  ['100,000 levels', nested(100_000)],
  ['10,001 values in an array', `[${many(VALUES_MAX, () => '1')}]`],
  ['10,001 values in an object', `{${many(VALUES_MAX, (index) => `"${index}":1`)}}`],
  ['10,001 arrays', `[${many(VALUES_MAX, () => '[]')}]`],
  ['an unterminated string', '"'],
  ['an unterminated escape', '"\\'],
])('refuses %s as 1005 at body', (_what, text) => {
  expect(() => parse(text)).toThrow(expect.objectContaining({ code: 1005, details: { description: 'body' } }))
})

test.each([
  ['32 levels', nested(DEPTH_MAX)],
  ['10,000 values in an array', `[${many(VALUES_MAX - 1, () => '1')}]`],
  ['10,000 values in an object', `{${many(VALUES_MAX - 1, (index) => `"${index}":1`)}}`],
  ['commas and brackets in strings', `["${',[{'.repeat(VALUES_MAX)}"]`],
  ['brackets in strings', `["${'['.repeat(99)}","\\"{{{","\\\\"]`],
  ['colons in strings', '{"a:b":":","c":"\\":"}'],
  ['the same key in two objects', '[{"a":1},{"a":{"a":1}}]'],
  ['keys that differ in case', '{"a":1,"A":2}'],
  ['white space everywhere', ' { "a" : [ 1 , 2 ] } '],
])('accepts %s', (_what, text) => {
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
  ['100.0', 0.5],
  ['1e2', 0.5],
  ['1E2', 0.5],
  ['1e400', 0.5],
  ['1e-2', 0.5],
  ['-0.0', -0.5],
  ['0.5', 0.5],
])('reads the literal %s exactly', (literal, value) => {
  expect(parse(literal)).toBe(value)
  expect(parse(`{"a":[${literal},true]}`)).toEqual({ a: [value, true] })
  expect(parse(` ${literal} `)).toBe(value)
})

test('reads a megabyte of digits', () => {
  expect(parse('9'.repeat(1_000_000))).toBeGreaterThan(2n ** 63n)
})

test('keeps prototype keys as own properties', () => {
  const value = parse('{"__proto__":{"polluted":1},"constructor":2,"toString":3,"n":1.5}')
  expect(Object.getPrototypeOf(value)).toBe(Object.prototype)
  expect(Object.keys(value as object)).toEqual(['__proto__', 'constructor', 'toString', 'n'])
  expect(Object.hasOwn(Object.prototype, 'polluted')).toBe(false)
})

/** The value of a number literal by the rules of E4. */
function exactValue(literal: string): Json {
  const sign = literal.startsWith('-') ? -1 : 1
  if (!/^-?\d+$/.test(literal)) return sign * 0.5
  if (literal.replace('-', '').length > 19) return BigInt(sign) * 10n ** 19n
  const number = Number(literal)
  return Number.isSafeInteger(number) ? number : BigInt(literal)
}

/** A slow parser with the same results: a reviver that sees every literal. */
function parseSlowly(text: string): unknown {
  return JSON.parse(text, (_key: string, value: unknown, context?: { readonly source?: string }) =>
    typeof value === 'number' ? exactValue(context?.source ?? '') : value,
  )
}

const digits = (maxLength: number) =>
  fc.string({ unit: fc.constantFrom(...'0123456789'), minLength: 1, maxLength })
const integers = fc.oneof(
  fc.integer().map(String),
  fc.bigInt({ min: -(2n ** 70n), max: 2n ** 70n }).map(String),
  fc.bigInt({ min: 2n ** 53n - 3n, max: 2n ** 53n + 3n }).map(String),
  fc.bigInt({ min: -(2n ** 53n) - 3n, max: 3n - 2n ** 53n }).map(String),
  fc
    .tuple(fc.constantFrom('', '-'), fc.constantFrom(...'123456789'), digits(45))
    .map((parts) => parts.join('')),
  fc.constantFrom('0', '-0', '999999999999999', '1000000000000000', '8999999999999999', '-8999999999999999'),
)
const fractions = fc
  .tuple(
    integers,
    fc.option(digits(30), { nil: '' }).map((part) => part && `.${part}`),
    fc.oneof(
      fc.constant(''),
      fc.tuple(fc.constantFrom('e', 'E', 'e+', 'E-'), digits(4)).map((part) => part.join('')),
    ),
  )
  .map((parts) => parts.join(''))
const spaces = fc.constantFrom('', '', ' ', '\n\t')
const literals = fc.oneof(
  integers,
  fractions,
  fc.constantFrom('100.0', '1e2', '1e400', '-0.0', '0.5', '-0.5', '1.5', '2.5'),
)
const keys = fc.oneof(
  fc.string(),
  fc.nat({ max: 99 }).map(String),
  fc.constantFrom('__proto__', 'constructor'),
)

/** JSON texts with many fractions and long integers, white space, and keys that `JSON.parse` reorders. */
const texts = fc.letrec<{ value: string; array: string; object: string }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 6, depthSize: 'small' },
    literals,
    fc.constantFrom('true', 'null', '[]', '{}', '"1.5"', '"\\"1.5,[{:"'),
    fc.string().map((text) => JSON.stringify(text)),
    tie('array'),
    tie('object'),
  ),
  array: fc
    .tuple(fc.array(tie('value'), { maxLength: 8 }), spaces)
    .map(([items, space]) => `[${space}${items.join(`,${space}`)}]`),
  object: fc
    .tuple(fc.uniqueArray(fc.tuple(keys, tie('value')), { selector: ([key]) => key, maxLength: 8 }), spaces)
    .map(
      ([fields, space]) =>
        `{${fields.map(([key, value]) => `${JSON.stringify(key)}${space}:${value}${space}`).join(',')}}`,
    ),
})).value

test('agrees with JSON.parse on every document, except that numbers depend on their literals', () => {
  fc.assert(
    fc.property(texts, (text) => {
      expect(parse(text)).toEqual(parseSlowly(text))
    }),
    { numRuns: propertyRuns(3000) },
  )
})

test('agrees with JSON.parse on documents with a flaw, also in a number', () => {
  const flaws = fc.constantFrom(...'-+.eE0195,:"[]{} \\', '--', '00', '.5', 'e5', '-1.5', '1.5')
  fc.assert(
    fc.property(texts, fc.nat(), fc.nat({ max: 2 }), flaws, (text, pick, removed, flaw) => {
      const at = pick % (text.length + 1)
      const flawed = text.slice(0, at) + flaw + text.slice(at + removed)
      fc.pre(!hasDuplicate(flawed))
      let expected: unknown
      try {
        expected = parseSlowly(flawed)
      } catch {
        expect(() => parse(flawed)).toThrow(PublicError)
        return
      }
      expect(parse(flawed)).toEqual(expected)
    }),
    { numRuns: propertyRuns(10_000) },
  )
})

/** A flaw can make two keys equal, and UTF-8 replaces a lone surrogate in a key. */
function hasDuplicate(text: string): boolean {
  try {
    return (
      countOfKeys(JSON.parse(text)) !== (text.replace(/"(?:[^"\\]|\\.)*"/gs, '').match(/:/g) ?? []).length
    )
  } catch {
    return false
  }
}

function countOfKeys(value: unknown): number {
  if (typeof value !== 'object' || value === null) return 0
  const own = Array.isArray(value) ? 0 : Object.keys(value).length
  return Object.values(value).reduce<number>((count, inner) => count + countOfKeys(inner), own)
}

test.each([
  ['--1.5'],
  ['-'],
  ['-.5'],
  ['1.'],
  ['1.e5'],
  ['1e'],
  ['1e+'],
  ['01.5'],
  ['-01e2'],
  ['012345678901234567'],
  ['--12345678901234567'],
  ['1.5.5'],
  ['1.5e5e5'],
  ['1e5e5'],
  ['1e4E00'],
  ['1.5-2.5'],
  ['12345678901234567.'],
  ['12345678901234567 2.5'],
  ['x1.5'],
  ['+1.5'],
])('refuses %s, which is not a number', (literal) => {
  for (const text of [literal, `[${literal}]`, `{"a":${literal}}`]) {
    expect(() => parse(text)).toThrow(
      expect.objectContaining({ code: 1005, details: { description: 'body' } }),
    )
  }
})

test('does not change the bytes of the body', () => {
  const body = Buffer.from('{"a":[1.25,12345678901234567,-1e2]}')
  const copy = Buffer.from(body)
  parseJson(body)
  expect(body).toEqual(copy)
})

test('does not confuse the numbers of a client with placeholders', () => {
  expect(
    parse('{"a":[1.5,"1.5",-2.5,12345678901234567,2.5,{"b":98765432109876543,"1":-98765432109876543}]}'),
  ).toEqual({
    a: [
      0.5,
      '1.5',
      -0.5,
      12_345_678_901_234_567n,
      0.5,
      { b: 98_765_432_109_876_543n, 1: -98_765_432_109_876_543n },
    ],
  })
})

test('finds a duplicate key whose values are fractions or long integers', () => {
  for (const text of ['{"a":1.5,"a":2.5}', '{"a":12345678901234567,"a":1}', '[{"b":1e2,"\\u0062":{}}]']) {
    expect(() => parse(text)).toThrow(expect.objectContaining({ code: 1005 }))
  }
})

test('finds a duplicate of any key, in any spelling', () => {
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

test('returns a value or throws 1005 for any bytes', () => {
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
    { numRuns: propertyRuns(5000) },
  )
})
