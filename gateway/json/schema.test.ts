import { describe, expect, test } from '@jest/globals'
import { type Json, parseJson } from './parse-json.ts'
import {
  amount,
  CALLBACK_URL,
  currency,
  EMAIL_ADDRESS,
  HTTP_URL,
  matchesFormat,
  NO_CONTROL_CHARACTERS,
  serviceId,
  type TextFormat,
  text,
} from './scalars.ts'
import { ignored, list, notApplicable, object, optional, type Schema, validate } from './schema.ts'
import type { ValidationContext } from './validation.ts'

const CONTEXT: ValidationContext = {
  environment: 'test',
  acceptsCallbackUrl: () => true,
  acceptsCallbackHost: async () => true,
}

const check = <T>(schema: Schema<T>, value: Json): Promise<T> => validate(schema, value, CONTEXT)
const matches = (format: TextFormat, value: string): boolean => matchesFormat(format, value, CONTEXT)

/** The code and path that a value is refused with; undefined if it is accepted. */
async function violationOf(
  schema: Schema<unknown>,
  value: Json,
): Promise<readonly [number, unknown] | undefined> {
  try {
    await check(schema, value)
    return undefined
  } catch (error) {
    const { code, details } = error as { code: number; details: { description: string } }
    return [code, details.description]
  }
}

const ORDER_PRICE = object({ value: amount(), currency: currency() })

const ORDER = object({
  name: text({ max: 5 }),
  price: ORDER_PRICE,
  note: optional(text({ min: 1, max: 3 })),
  foreign: notApplicable(),
  anything: ignored(),
  tags: optional(list(text({ max: 2 }), { max: 2 })),
})

const good = { name: 'a', price: { value: 1, currency: 'INR' } }

test('returns the fields of the schema only', async () => {
  expect(await check(ORDER, { ...good, anything: [1] })).toEqual({
    name: 'a',
    price: { value: 1n, currency: 'INR' },
  })
  expect(await check(ORDER, { ...good, note: 'x', tags: ['a', 'b'] })).toMatchObject({
    note: 'x',
    tags: ['a', 'b'],
  })
})

test.each<[string, Json, readonly [number, string]]>([
  ['a value that is not an object', 5, [1005, '']],
  ['a missing field', { price: good.price }, [1005, 'name']],
  ['a missing inner field', { name: 'a', price: { value: 1 } }, [1005, 'price.currency']],
  ['null for a required field', { ...good, name: null }, [1005, 'name']],
  ['null for an optional field', { ...good, note: null }, [1005, 'note']],
  ['an array for an object', { ...good, price: [] }, [1005, 'price']],
  ['a number for a text', { ...good, name: 7 }, [1005, 'name']],
  ['a text for an amount', { ...good, price: { value: '1', currency: 'INR' } }, [1005, 'price.value']],
  ['a wrong element', { ...good, tags: ['a', 1] }, [1005, 'tags.1']],
  ['a long element', { ...good, tags: ['abc'] }, [9000, 'tags.0']],
  ['a long list', { ...good, tags: ['a', 'b', 'c'] }, [9000, 'tags']],
  ['an unknown field', { ...good, other: 1 }, [9000, 'other']],
  ['an unknown inner field', { ...good, price: { ...good.price, x: 1 } }, [9000, 'price.x']],
  ['a field that does not apply', { ...good, foreign: {} }, [9000, 'foreign']],
  ['a short text', { ...good, note: '' }, [9000, 'note']],
  ['a lone surrogate', { ...good, name: '\ud800' }, [9000, 'name']],
  ['U+0000', { ...good, name: 'a\0' }, [9000, 'name']],
  ['an amount of 0', { ...good, price: { value: 0, currency: 'INR' } }, [6001, 'price.value']],
  [
    'a text that is not a currency',
    { ...good, price: { value: 1, currency: 'XXY' } },
    [1010, 'price.currency'],
  ],
  // Of several violations, one is reported (E6).
  [
    'a 1005 after a 9000 and a 6001',
    { foreign: 1, name: 'a', price: { value: 0 } },
    [1005, 'price.currency'],
  ],
  ['a 9000 after a 6001', { ...good, price: { value: 0, currency: 'XXY' }, note: 'long' }, [9000, 'note']],
  ['an unknown field after a 6001', { ...good, price: { value: 0, currency: 'XXY' }, z: 1 }, [9000, 'z']],
  ['the first of two 1005', { price: { value: 'x' } }, [1005, 'name']],
  ['the first of two 9000', { ...good, z: 1, note: 'long', foreign: 1 }, [9000, 'note']],
  [
    'the first of two specific codes',
    { ...good, price: { value: -1, currency: 'XXY' } },
    [6001, 'price.value'],
  ],
])('refuses %s', async (_what, value, expected) => {
  expect(await violationOf(ORDER, value)).toEqual(expected)
})

test('treats prototype keys as unknown, and inherited keys as absent', async () => {
  const value = parseJson(
    Buffer.from('{"name":"a","price":{"value":1,"currency":"INR"},"__proto__":{"x":1}}'),
  )
  expect(await violationOf(ORDER, value)).toEqual([9000, '__proto__'])
  expect(await violationOf(object({ constructor: text({ max: 5 }) }), {})).toEqual([1005, 'constructor'])
})

test.each([
  ['a long key', 'k'.repeat(5000), 'k'.repeat(64)],
  ['a long key of surrogate pairs', '💶'.repeat(5000), '💶'.repeat(64)],
  ['a surrogate pair at the cut', `${'k'.repeat(63)}💶k`, `${'k'.repeat(63)}💶`],
  ['a lone surrogate', 'a\ud83d', 'a\ufffd'],
  ['surrogates in the wrong order', '\udcb6\ud83d', '\ufffd\ufffd'],
])('shows at most 64 whole characters of an unknown key: %s', async (_what, key, shown) => {
  expect(await violationOf(object({}), { [key]: 1 })).toEqual([9000, shown])
})

test('counts lengths in code points', async () => {
  const schema = text({ min: 2, max: 4 })
  expect(await violationOf(schema, '💶💶💶💶')).toBeUndefined()
  expect((await violationOf(schema, '💶💶💶💶💶'))?.[0]).toBe(9000)
  expect((await violationOf(schema, '💶'))?.[0]).toBe(9000)
  expect(await violationOf(schema, 'é'.repeat(4))).toBeUndefined()
  expect((await violationOf(schema, 'e\u0301'.repeat(3)))?.[0]).toBe(9000)
})

test('requires one of several fields, unless a field that does not apply is present', async () => {
  const schema = object(
    { c_id: optional(text({ max: 9 })), h_id: optional(text({ max: 9 })), p_id: notApplicable() },
    { at_least_one: ['c_id', 'h_id'] },
  )
  expect(await violationOf(schema, { h_id: 'a' })).toBeUndefined()
  expect(await violationOf(object({ identifiers: schema }), { identifiers: {} })).toEqual([
    1005,
    'identifiers',
  ])
  expect(await violationOf(schema, { p_id: 'a' })).toEqual([9000, 'p_id'])
  expect(await violationOf(schema, { c_id: 'a', p_id: 'a' })).toEqual([9000, 'p_id'])
})

test.each<[Json, string | number]>([
  [501, '501'],
  ['501', '501'],
  [0, '0'],
  [-5, '-5'],
  [2n ** 63n - 1n, '9223372036854775807'],
  [2n ** 63n, '0'],
  ['99999999999999999999', '0'],
  ['007', 9000],
  ['5a', 9000],
  ['', 9000],
  ['5.0', 9000],
  ['5\0', 9000],
  ['\ud800', 9000],
  [Number.NaN, 1005],
  [1.5, 1005],
  [true, 1005],
  [null, 1005],
])('reads %p as a route number: %p', async (value, expected) => {
  if (typeof expected === 'number') expect((await violationOf(serviceId(), value))?.[0]).toBe(expected)
  else expect(await check(serviceId(), value)).toBe(expected)
})

test.each<[Json, bigint | number]>([
  [1, 1n],
  [9_007_199_254_740_991, 9_007_199_254_740_991n],
  [9_007_199_254_740_992n, 6001],
  [2n ** 80n, 6001],
  [0, 6001],
  [-0, 6001],
  [-1, 6001],
  [Number.NaN, 1005],
  ['5', 1005],
])('reads %p as an amount: %p', async (value, expected) => {
  if (typeof expected === 'number') expect((await violationOf(amount(), value))?.[0]).toBe(expected)
  else expect(await check(amount(), value)).toBe(expected)
})

test.each([
  ['a.b+c@example.com', true],
  ['ä@exämple.de', true],
  ['a@b.co', true],
  ["o'neil_1/x=y@a-b.example.com", true],
  ['rao@उदाहरण.भारत', true],
  ['a@b', false],
  ['a..b@x.com', false],
  ['.a@x.com', false],
  ['a.@x.com', false],
  ['a@x.com-', false],
  ['a@x.-com', false],
  ['a@x.--', false],
  ['a@x-.com', false],
  ['a@x.c', false],
  ['a@.x.com', false],
  ['a@x.com.', false],
  ['a@x_y.com', false],
  ['a@x💶.com', false],
  ['a\u2003b@x.com', false],
  ['a\u0085@x.com', false],
  [`${'a'.repeat(64)}@x.com`, true],
  [`${'a'.repeat(65)}@x.com`, false],
  ['@b.co', false],
  ['a@', false],
  ['a b@c.de', false],
  ['a@@b.co', false],
  ['a@b..co', false],
  ['a@-b.co', false],
  ['<a@b.co>', false],
  ['a@b.co\r\nBcc: c@d.ef', false],
])('checks the e-mail address %p: %p', (value, accepted) => {
  expect(matches(EMAIL_ADDRESS, value)).toBe(accepted)
})

test.each([
  ['https://shop.example.com/ok?a=1#b', true],
  ['HTTP://shop.example.com', true],
  ['https://exämple.de/ü', true],
  ['http:///x.com', false],
  ['http:////x.com', false],
  ['http://?x.com', false],
  ['http://#x.com', false],
  ['https://a.com/\u2028', false],
  ['ftp://shop.example.com', false],
  ['javascript:alert(1)', false],
  ['https:shop.example.com', false],
  ['//shop.example.com', false],
  ['/ok', false],
  ['https://', false],
  ['https://a b.com', false],
  ['https://a.com/\nb', false],
  ['https:\\\\a.com', false],
])('checks the URL %p: %p', (value, accepted) => {
  expect(matches(HTTP_URL, value)).toBe(accepted)
})

test('checks a callback URL with the rule of the process', () => {
  const checked: unknown[] = []
  const context: ValidationContext = {
    environment: 'production',
    acceptsCallbackUrl: (...given) => checked.push(given) > 1,
    acceptsCallbackHost: async () => true,
  }
  expect(matchesFormat(CALLBACK_URL, 'https://a.co', context)).toBe(false)
  expect(matchesFormat(CALLBACK_URL, 'https://b.co', context)).toBe(true)
  expect(checked).toEqual([
    ['https://a.co', 'production'],
    ['https://b.co', 'production'],
  ])
  expect(matchesFormat(CALLBACK_URL, 'ftp://a.co', context)).toBe(false)
})

test.each([
  ['https://a.co/hook?a=[1]#b', true],
  ['http://[2606:4700::1]/', true],
  ['http:///a.co', false],
  ['https://a.co/ü', false],
  ['https://ä.co/', false],
  ['https://a.co/\\', false],
  ['https://a.co/ ', false],
])('checks the form of the callback URL %p: %p', (value, accepted) => {
  expect(matches(CALLBACK_URL, value)).toBe(accepted)
})

describe('a check that has to wait', () => {
  const schema = object({ price: ORDER_PRICE, url: text({ max: 99, format: CALLBACK_URL }) })
  const url = 'https://a.co'
  const resultWith = async (accepted: boolean, value: Json): Promise<unknown> => {
    let lookups = 0
    const context: ValidationContext = {
      ...CONTEXT,
      acceptsCallbackHost: async () => {
        lookups += 1
        return accepted
      },
    }
    const code = await validate(schema, value, context).then(
      () => 0,
      (error) => error.code,
    )
    return [code, lookups]
  }

  test.each<[string, Json, boolean, number, number]>([
    ['accepts', { price: good.price, url }, true, 0, 1],
    ['refuses with 9000', { price: good.price, url }, false, 9000, 1],
    ['comes before specific codes', { price: { value: 0, currency: 'INR' }, url }, false, 9000, 1],
    ['lets specific codes pass', { price: { value: 0, currency: 'INR' }, url }, true, 6001, 1],
    ['is not made after another 9000', { price: good.price, url, x: 1 }, false, 9000, 0],
    ['is not made after a 1005', { url }, false, 1005, 0],
  ])('%s', async (_what, value, accepted, code, lookups) => {
    expect(await resultWith(accepted, value)).toEqual([code, lookups])
  })
})

test.each([
  ['order 1/ü💶', true],
  ['a\tb', false],
  ['a\u0085b', false],
])('checks the reference %p: %p', (value, accepted) => {
  expect(matches(NO_CONTROL_CHARACTERS, value)).toBe(accepted)
})

test('checks long hostile texts quickly', () => {
  const hostile = `a@${'a.'.repeat(126)}!`
  expect(matches(EMAIL_ADDRESS, hostile)).toBe(false)
  expect(matches(EMAIL_ADDRESS, 'a'.repeat(254))).toBe(false)
})

test('describes the schema as data', () => {
  expect(ORDER.shape).toMatchObject({
    type: 'object',
    fields: {
      name: { type: 'text', max: 5, presence: 'required' },
      foreign: { presence: 'not_applicable' },
      tags: { type: 'list', presence: 'optional', item: { type: 'text' } },
    },
  })
})

describe('a body full of fractions or long integers', () => {
  const many = (item: string, bytes: number): string =>
    `[${Array(Math.ceil(bytes / item.length))
      .fill(item)
      .join(',')}]`
  const body = (more: string, value = '1'): string =>
    `{"name":"a","price":{"value":${value},"currency":"INR"}${more && `,${more}`}}`
  const outcome = (text: string) => violationOf(ORDER, parseJson(Buffer.from(text)))

  test.each(['1.5', '1e2', '9007199254740993', '{"k0":1},1.5', `${'['.repeat(28)}1.5${']'.repeat(28)}`])(
    'is accepted in an ignored field, and reported elsewhere: %s',
    async (item) => {
      const numbers = many(item, 16_384)
      expect(await outcome(body(`"anything":${numbers}`))).toBeUndefined()
      expect(await outcome(body(`"other":${numbers}`))).toEqual([9000, 'other'])
      expect(await outcome(body(`"note":${numbers}`))).toEqual([1005, 'note'])
      expect(await outcome(body(`"anything":${numbers}`, '100.0'))).toEqual([1005, 'price.value'])
      expect(await outcome(body(`"anything":${numbers}`, '1e400'))).toEqual([1005, 'price.value'])
      expect(await outcome(body(`"anything":${numbers}`, '9007199254740991'))).toBeUndefined()
      expect(await outcome(body(`"anything":${numbers}`, '9007199254740992'))).toEqual([6001, 'price.value'])
      expect(await outcome(body(`"anything":${numbers}`, '-0'))).toEqual([6001, 'price.value'])
      expect(await outcome(body(`"tags":["a",1.5],"anything":${numbers}`))).toEqual([1005, 'tags.1'])
    },
  )

  test('keeps the number of a route exact', async () => {
    const route = (literal: string) =>
      check(
        object({ 0: ignored(), id: serviceId() }),
        parseJson(Buffer.from(`{"id":${literal},"0":12345678901234567}`)),
      )
    expect((await route('9007199254740993')).id).toBe('9007199254740993')
    expect((await route('-9223372036854775808')).id).toBe('-9223372036854775808')
    expect((await route('9223372036854775808')).id).toBe('0')
    expect((await route('9'.repeat(400))).id).toBe('0')
  })
})
