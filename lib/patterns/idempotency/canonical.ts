import { sha256Hex } from '#lib/base/crypto/hash.ts'

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
  let text = ''
  for (const key of Object.keys(value).sort()) {
    const field = value[key]
    if (field !== undefined) text += `${text === '' ? '' : ','}${JSON.stringify(key)}:${canonicalJson(field)}`
  }
  return `{${text}}`
}

/** The SHA-256 of the canonical JSON text, in hexadecimal. */
export function payloadHash(value: JsonValue): string {
  return sha256Hex(canonicalJson(value))
}

function isList(value: readonly JsonValue[] | object): value is readonly JsonValue[] {
  return Array.isArray(value)
}
