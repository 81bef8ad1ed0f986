/*
 * MongoDB Extended JSON (version 2), as far as documents need it: readable without this program, and every value comes back.
 *
 *   bigint      {"$numberLong":"150000"}
 *   Date        {"$date":"2026-11-29T10:00:00.000Z"}
 *   Uint8Array  {"$binary":{"base64":"AP8=","subType":"00"}}
 *   -0          {"$numberDouble":"-0.0"}
 *
 * No field of a document begins with `$`, so these objects mean nothing else.
 */

/** Encodes a value of a document as JSON on one line. Throws `TypeError` for what no document can hold. */
export function toExtendedJson(value: unknown): string {
  return JSON.stringify(encoded(value))
}

/** The value that `toExtendedJson` has encoded; bytes are a `Buffer`. Throws `SyntaxError` for a text that is not JSON. */
export function fromExtendedJson(text: string): unknown {
  return JSON.parse(text, decoded)
}

function encoded(value: unknown): unknown {
  if (typeof value === 'bigint') return { $numberLong: String(value) }
  if (Object.is(value, -0)) return { $numberDouble: '-0.0' }
  if (typeof value === 'undefined' || typeof value === 'function' || typeof value === 'symbol')
    throw new TypeError(`a ${typeof value} cannot be encoded`)
  if (typeof value !== 'object' || value === null) return value
  if (Array.isArray(value)) return value.map(encoded)
  if (value instanceof Date) return { $date: value.toISOString() }
  if (value instanceof Uint8Array)
    return { $binary: { base64: Buffer.from(value).toString('base64'), subType: '00' } }
  return Object.fromEntries(Object.entries(value).map(([name, field]) => [name, encoded(field)]))
}

function decoded(_name: string, value: unknown): unknown {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value
  const { $numberLong, $numberDouble, $date, $binary } = value as Record<string, unknown>
  if (typeof $numberLong === 'string') return BigInt($numberLong)
  if ($numberDouble === '-0.0') return -0
  if (typeof $date === 'string') return new Date($date)
  if (typeof $binary === 'object' && $binary !== null && 'base64' in $binary)
    return Buffer.from(String($binary.base64), 'base64')
  return value
}
