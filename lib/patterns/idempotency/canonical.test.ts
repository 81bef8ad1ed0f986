import { describe, expect, test } from '@jest/globals'
import fc from 'fast-check'
import { canonicalJson, type JsonValue, payloadHash } from './idempotency.ts'

/** JSON as the strict parser returns it: objects without inherited keys, large integers as `bigint`. */
const json: fc.Arbitrary<JsonValue> = fc.letrec<{ value: JsonValue }>((tie) => ({
  value: fc.oneof(
    { depthSize: 'small', withCrossShrink: true },
    fc.string({ unit: 'binary' }),
    fc.integer(),
    fc.bigInt({ min: 2n ** 53n, max: 2n ** 63n - 1n }),
    fc.boolean(),
    fc.constant(null),
    fc.array(tie('value')),
    fc.dictionary(fc.string({ unit: 'binary' }), tie('value'), { noNullPrototype: true }),
  ),
})).value

function isObject(value: JsonValue): value is { readonly [key: string]: JsonValue | undefined } {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** The same value with its keys in reverse order and with an absent field added. */
function rewritten(value: JsonValue): JsonValue {
  if (Array.isArray(value)) return value.map(rewritten)
  if (!isObject(value)) return value
  const fields = Object.entries(value).map(([key, field]) => [key, field && rewritten(field)] as const)
  return Object.fromEntries([['absent of all', undefined], ...fields.reverse()])
}

describe('canonical JSON', () => {
  test('has the same text for every order of keys, at every depth', () => {
    fc.assert(
      fc.property(json, (value) => expect(canonicalJson(rewritten(value))).toBe(canonicalJson(value))),
    )
  })

  test('parses back to the same value, so different payloads have different texts', () => {
    fc.assert(
      fc.property(json, (value) => {
        const exact = (_key: string, field: unknown, context?: { source?: string }): unknown =>
          typeof field === 'number' && !Number.isSafeInteger(field) ? BigInt(context?.source ?? '') : field
        expect(JSON.parse(canonicalJson(value), exact)).toEqual(value)
      }),
    )
  })

  test('differs for values that only look alike', () => {
    const values: JsonValue[] = [1, '1', [1], { 1: 1 }, true, 'true', null, 'null', [], {}, '', 0, false]
    const close: JsonValue[] = [
      2n ** 53n + 1n,
      2n ** 53n + 2n,
      [[1], 2],
      [1, [2]],
      { a: { b: 1 } },
      { a: 1, b: 1 },
    ]
    const hashes = [...values, ...close].map(payloadHash)
    expect(new Set(hashes).size).toBe(hashes.length)
  })

  test('orders keys by code units, without white space, and treats no name specially', () => {
    const value: JsonValue = JSON.parse(
      '{"b":[1,{"z":2,"a":3}],"a":"x","\\u00e9":1,"10":1,"9":2,"__proto__":5}',
    )
    expect(canonicalJson(value)).toBe('{"10":1,"9":2,"__proto__":5,"a":"x","b":[1,{"a":3,"z":2}],"é":1}')
  })
})
