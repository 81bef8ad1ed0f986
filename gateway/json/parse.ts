import { isUtf8 } from 'node:buffer'
import { fieldError } from '#lib/errors/public-error.ts'
import { scanJson } from './scan.ts'

/**
 * A JSON value as strictly read. An integer literal is a number while that is exact and a bigint beyond it; a number
 * written any other way (`100.0`, `1e2`) is NaN, which JSON itself has not, so that no check takes it for an integer.
 */
export type Json = null | boolean | number | bigint | string | readonly Json[] | JsonObject

/** An object as read: every key is its own property, also `__proto__`, so test for keys with `Object.hasOwn`. */
export interface JsonObject {
  readonly [key: string]: Json
}

/** How deep arrays and objects may be nested (E4). */
export const DEPTH_MAX = 32

const INTEGER = /^-?(0|[1-9][0-9]*)$/

/** Longer integers are all alike to every rule, and turning a megabyte of digits into a bigint takes too long. */
const INTEGER_LENGTH_MAX = 40

/**
 * Reads a body as JSON, refusing what E4 refuses of the body as a whole: bytes that are not UTF-8, a byte order mark,
 * deep nesting, and a key given twice in one object, however it is spelled. Throws 1005 at `body`.
 */
export function parseJson(body: Buffer): Json {
  if (!isUtf8(body)) throw fieldError(1005, 'body')
  const { depth, keys, plain_numbers } = scanJson(body)
  if (depth > DEPTH_MAX) throw fieldError(1005, 'body')
  const value = parse(body.toString('utf8'), plain_numbers)
  // JSON.parse keeps one of several equal keys, so after it there are fewer of them than colons in the text.
  if (countKeys(value) !== keys) throw fieldError(1005, 'body')
  return value
}

function parse(text: string, plain_numbers: boolean): Json {
  try {
    return plain_numbers ? JSON.parse(text) : JSON.parse(text, exactNumber)
  } catch (cause) {
    // The parser's own message quotes the text, so it is not kept.
    if (cause instanceof SyntaxError) throw fieldError(1005, 'body')
    throw cause
  }
}

/** The parser tells the literal of a number as a third argument. */
function exactNumber(_key: string, value: Json, context?: { readonly source?: string }): Json {
  if (typeof value !== 'number') return value
  const literal = context?.source ?? ''
  if (!INTEGER.test(literal)) return Number.NaN
  return Number.isSafeInteger(value) ? value : BigInt(literal.slice(0, INTEGER_LENGTH_MAX))
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
