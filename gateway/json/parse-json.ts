import { isUtf8 } from 'node:buffer'
import { fieldError } from '#lib/contract/errors/public-error.ts'
import { readIntegers, restoreIntegers, writePlaceholders } from './lossless-integers.ts'
import { type JsonMeasures, measureJson } from './measure-json.ts'

/**
 * A JSON value as `parseJson` returns it. An integer literal is a number while it is a safe integer, otherwise a
 * bigint; with more than 19 digits it is ±10^19. A number written in any other way (`100.0`, `1e2`) is ±0.5, so that no
 * check accepts it as an integer.
 */
export type Json = null | boolean | number | bigint | string | readonly Json[] | JsonObject

/** A parsed object. Every key is an own property, `__proto__` included: test for keys with `Object.hasOwn`. */
export interface JsonObject {
  readonly [key: string]: Json
}

/** The deepest nesting of arrays and objects that is accepted (E4). */
export const DEPTH_MAX = 32

/**
 * The most values in a body, far above what any method takes (E4). A new key costs up to 1 µs, so a body of 1 MiB would
 * keep the process busy for 0.1 s.
 */
export const VALUES_MAX = 10_000

/**
 * Parses a body strictly (E4). Throws 1005 at `body` for bytes that are not UTF-8, a byte order mark, invalid JSON,
 * nesting deeper than `DEPTH_MAX`, more than `VALUES_MAX` values, or a key that occurs twice in one object, in whatever spelling.
 */
export function parseJson(body: Buffer): Json {
  if (!isUtf8(body)) throw fieldError(1005, 'body')
  const measures = measureJson(body, VALUES_MAX)
  const { depth, values, keys } = measures
  if (depth > DEPTH_MAX || values > VALUES_MAX) throw fieldError(1005, 'body')
  const value = parseNumbers(body, measures)
  // JSON.parse keeps only one of several equal keys, so a repeated key leaves fewer keys than colons in the text.
  if (keys > 0 && countKeys(value) !== keys) throw fieldError(1005, 'body')
  return value
}

/**
 * `JSON.parse` alone rounds long integers and cannot tell `100.0` from `100`. Its reviver sees the literals, but takes
 * three to twelve times as long as placeholders do.
 */
function parseNumbers(body: Buffer, { fractions, long_integers }: JsonMeasures): Json {
  if (fractions.length === 0 && long_integers.length === 0) return parse(body)
  const text = Buffer.from(body)
  writePlaceholders(text, fractions, long_integers)
  const value = parse(text)
  return long_integers.length === 0 ? value : restoreIntegers(value, readIntegers(body, long_integers))
}

function parse(text: Buffer): Json {
  try {
    return JSON.parse(text.toString('utf8'))
  } catch (cause) {
    // The parser's own message quotes the text, so it is dropped.
    if (cause instanceof SyntaxError) throw fieldError(1005, 'body')
    throw cause
  }
}

/** Recursion is safe here: the depth has been checked. */
function countKeys(value: Json): number {
  if (typeof value !== 'object' || value === null) return 0
  let count = 0
  if (Array.isArray(value)) {
    for (const item of value) if (typeof item === 'object') count += countKeys(item)
    return count
  }
  const object = value as JsonObject
  for (const key in object) {
    count += 1
    const inner = object[key]
    if (typeof inner === 'object') count += countKeys(inner)
  }
  return count
}
