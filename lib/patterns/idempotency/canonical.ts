import { sha256Hex } from '#lib/platform/crypto/hash.ts'

/** A JSON value as the strict parser returns it. Integers above 2^53 are `bigint`. */
export type JsonValue =
  | string
  | number
  | bigint
  | boolean
  | null
  | readonly JsonValue[]
  | { readonly [key: string]: JsonValue | undefined }

/**
 * The canonical JSON text of a value: no white space, keys in code-unit order, no absent fields. Two requests have the
 * same payload when their canonical texts are equal (S3).
 */
export function canonicalJson(value: JsonValue): string {
  if (typeof value === 'bigint') return value.toString()
  if (value === null || typeof value !== 'object') return JSON.stringify(value)
  if (isList(value)) return `[${value.map(canonicalJson).join(',')}]`
  const fields = Object.entries(value).flatMap(([key, field]) =>
    field === undefined ? [] : [{ key, field }],
  )
  fields.sort((a, b) => (a.key < b.key ? -1 : 1))
  return `{${fields.map(({ key, field }) => `${JSON.stringify(key)}:${canonicalJson(field)}`).join(',')}}`
}

/** The SHA-256 of the canonical JSON text, in hexadecimal. */
export function payloadHash(value: JsonValue): string {
  return sha256Hex(canonicalJson(value))
}

function isList(value: readonly JsonValue[] | object): value is readonly JsonValue[] {
  return Array.isArray(value)
}
