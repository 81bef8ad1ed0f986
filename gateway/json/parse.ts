import { isUtf8 } from 'node:buffer'
import { fieldError } from '#lib/contract/errors/public-error.ts'
import { putBack, readIntegers, writeStandIns } from './lossless-integers.ts'
import { type Scan, scanJson } from './scan.ts'

/**
 * A JSON value as strictly read. An integer literal is a number while that is exact, a bigint beyond it, and ±10^19 if it
 * has more than 19 digits. A number written any other way (`100.0`, `1e2`) is ±0.5, so that no check takes it for an
 * integer.
 */
export type Json = null | boolean | number | bigint | string | readonly Json[] | JsonObject

/** An object as read: every key is its own property, also `__proto__`, so test for keys with `Object.hasOwn`. */
export interface JsonObject {
  readonly [key: string]: Json
}

/** How deep arrays and objects may be nested (E4). */
export const DEPTH_MAX = 32

/**
 * Reads a body as JSON, refusing what E4 refuses of the body as a whole: bytes that are not UTF-8, a byte order mark,
 * deep nesting, and a key given twice in one object, however it is spelled. Throws 1005 at `body`.
 */
export function parseJson(body: Buffer): Json {
  if (!isUtf8(body)) throw fieldError(1005, 'body')
  const scan = scanJson(body)
  const { depth, keys } = scan
  if (depth > DEPTH_MAX) throw fieldError(1005, 'body')
  const value = parseNumbers(body, scan)
  // JSON.parse keeps one of several equal keys, so after it there are fewer of them than colons in the text.
  if (keys > 0 && countKeys(value) !== keys) throw fieldError(1005, 'body')
  return value
}

/** `JSON.parse` rounds long integers and tells `100.0` from `100` only to a reviver, which takes ten times as long. */
function parseNumbers(body: Buffer, { fractions, long_integers }: Scan): Json {
  if (fractions.length === 0 && long_integers.length === 0) return parse(body)
  const text = Buffer.from(body)
  writeStandIns(text, fractions, long_integers)
  const value = parse(text)
  return long_integers.length === 0 ? value : putBack(value, readIntegers(body, long_integers))
}

function parse(text: Buffer): Json {
  try {
    return JSON.parse(text.toString('utf8'))
  } catch (cause) {
    // The parser's own message quotes the text, so it is not kept.
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
