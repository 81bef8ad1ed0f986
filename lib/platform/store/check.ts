import { fitsInt64 } from '#lib/contract/money.ts'

const DEPTH_MAX = 64
const NAMES_KNOWN_MAX = 4_096

/** Largest document in bytes as stored: half of what MongoDB takes. */
const DOCUMENT_BYTES_MAX = 8 * 1024 * 1024

/** What a store holds of a document: its own fields, none of them `undefined`. */
export type Body = Readonly<Record<string, unknown>>

/**
 * The document as it will be stored and answered: at `version`, without fields that are `undefined`. Throws
 * `TypeError` for whatever a store would refuse, wrap or change silently: BSON makes -2^63 of 2^63, both stores make
 * U+FFFD of half a surrogate pair, and an object of a class would lose its class.
 */
export function checkDocument<D extends object>(
  document: D,
  version: number,
): D & Body & { readonly version: number } {
  if ('_id' in document) throw new TypeError('field _id: the store keeps this name to itself')
  return checkFields({ ...document, version }, 1)
}

/** Throws `TypeError` for a document that takes more bytes than a document may. */
export function checkDocumentSize(size_bytes: number): void {
  if (size_bytes > DOCUMENT_BYTES_MAX) {
    throw new TypeError(`a document takes ${size_bytes} bytes, at most ${DOCUMENT_BYTES_MAX} fit`)
  }
}

/** Throws `TypeError` for an integer beyond 64 bits. */
export function checkInt64(value: bigint): bigint {
  if (!fitsInt64(value)) throw new TypeError(`${value} does not fit 64 bits`)
  return value
}

/** Throws `TypeError` unless `version` is one that a document can have. */
export function checkVersion(version: number): void {
  if (!Number.isSafeInteger(version) || version < 1)
    throw new TypeError(`${version} is no version of a document`)
}

function checkFields<F extends Body>(fields: F, depth: number): F {
  if (depth > DEPTH_MAX) throw new TypeError(`a document is deeper than ${DEPTH_MAX} levels`)
  let changed: Record<string, unknown> | undefined
  // A plain object inherits nothing that could be enumerated, and this is the fastest way over its fields.
  for (const name in fields) {
    checkName(name)
    const value = fields[name]
    const checked = value === undefined ? undefined : checkValue(value, depth, name)
    if (checked === value && value !== undefined) continue
    changed ??= { ...fields }
    if (checked === undefined) delete changed[name]
    else changed[name] = checked
  }
  // What was changed was changed to its like, and what is absent now was `undefined`.
  return changed === undefined ? fields : (changed as F)
}

function checkValue(value: unknown, depth: number, name: string): unknown {
  switch (typeof value) {
    case 'string':
      if (!value.isWellFormed()) throw new TypeError(`field ${name} holds half of a surrogate pair`)
      return value
    case 'number':
      if (!Number.isFinite(value)) throw new TypeError(`field ${name} holds ${value}, which no store keeps`)
      return value
    case 'bigint':
      return checkInt64(value)
    case 'boolean':
      return value
    case 'object':
      return value === null ? value : checkObject(value, depth, name)
    default:
      throw new TypeError(`field ${name} holds a ${typeof value}, which no store keeps`)
  }
}

function checkObject(value: object, depth: number, name: string): unknown {
  if (Array.isArray(value)) return checkArray(value, depth + 1, name)
  if (value instanceof Date) {
    if (Number.isNaN(value.getTime())) throw new TypeError(`field ${name} holds an invalid date`)
    return value
  }
  if (value instanceof Uint8Array) return value
  if (!isPlain(value)) throw new TypeError(`field ${name} holds an object of a class, which no store keeps`)
  return checkFields(value, depth + 1)
}

function checkArray(values: readonly unknown[], depth: number, name: string): readonly unknown[] {
  if (depth > DEPTH_MAX) throw new TypeError(`a document is deeper than ${DEPTH_MAX} levels`)
  let changed: unknown[] | undefined
  for (let at = 0; at < values.length; at += 1) {
    const value = values[at]
    const checked = checkValue(value, depth, name)
    if (checked === value) continue
    changed ??= [...values]
    changed[at] = checked
  }
  return changed ?? values
}

function isPlain(value: object): value is Body {
  const prototype: unknown = Object.getPrototypeOf(value)
  if (prototype === Object.prototype || prototype === null) return true
  // The root of another realm: an object may come from a worker or a test.
  return Object.getPrototypeOf(prototype) === null
}

// The names of fields are few and their check is a good part of the cost of a write.
const known = new Set<string>()

function checkName(name: string): void {
  if (known.has(name)) return
  const refused = name === '' || name === '__proto__' || name === '_bsontype' || name.startsWith('$')
  if (refused || name.includes('.') || name.includes('\0') || !name.isWellFormed()) {
    throw new TypeError(`${JSON.stringify(name)} is no name for a stored field`)
  }
  if (known.size < NAMES_KNOWN_MAX) known.add(name)
}
