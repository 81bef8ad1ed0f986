import { randomFraction } from '#lib/base/crypto/random.ts'
import { fitsInt64 } from '#lib/contract/money.ts'

const DEPTH_MAX = 64
const NAMES_KNOWN_MAX = 4_096

/** The largest document in bytes, as stored: half of MongoDB's limit. */
const DOCUMENT_BYTES_MAX = 8 * 1024 * 1024

/** The fields of a stored document. None of them is `undefined`. */
export type Body = Readonly<Record<string, unknown>>

/**
 * Returns the document as it will be stored: at `version`, without fields that are `undefined`. Throws `TypeError` for
 * values that a store would refuse or change silently: BSON turns 2^63 into -2^63, both stores replace half a surrogate
 * pair by U+FFFD, and an instance of a class would lose its class.
 */
export function checkDocument<D extends object>(
  document: D,
  version: number,
): D & Body & { readonly version: number } {
  if ('_id' in document) throw new TypeError('field _id: this name is reserved for the store')
  return checkFields({ ...document, version }, 1)
}

/** Throws `TypeError` for a document that is too large. */
export function checkDocumentSize(size_bytes: number): void {
  if (size_bytes > DOCUMENT_BYTES_MAX) {
    throw new TypeError(`a document has ${size_bytes} bytes; at most ${DOCUMENT_BYTES_MAX} are allowed`)
  }
}

/** Throws `TypeError` for an integer beyond 64 bits. */
function checkInt64(value: bigint): bigint {
  if (!fitsInt64(value)) throw new TypeError(`${value} does not fit 64 bits`)
  return value
}

/**
 * A random first version for a new document. Versions then count up from it, so a late write that expects a version of a
 * deleted document does not match its successor under the same key: both would have to start within a few numbers of
 * each other out of 2^48.
 */
export function firstVersion(): number {
  return 1 + Math.floor(randomFraction() * 2 ** 48)
}

/** Throws `TypeError` unless `version` is a valid version of a document. */
export function checkVersion(version: number): void {
  if (!Number.isSafeInteger(version) || version < 1)
    throw new TypeError(`${version} is not a valid document version`)
}

function checkFields<F extends Body>(fields: F, depth: number): F {
  if (depth > DEPTH_MAX) throw new TypeError(`a document is deeper than ${DEPTH_MAX} levels`)
  let changed: Record<string, unknown> | undefined
  // The fastest loop over the fields. It is safe because a plain object inherits no enumerable properties.
  for (const name in fields) {
    checkName(name)
    const value = fields[name]
    const checked = value === undefined ? undefined : checkValue(value, depth, name)
    if (checked === value && value !== undefined) continue
    changed ??= { ...fields }
    if (checked === undefined) delete changed[name]
    else changed[name] = checked
  }
  // Every changed field kept its type, and every removed field was `undefined`, so the type still holds.
  return changed === undefined ? fields : (changed as F)
}

function checkValue(value: unknown, depth: number, name: string): unknown {
  switch (typeof value) {
    case 'string':
      if (!value.isWellFormed()) throw new TypeError(`field ${name} holds half of a surrogate pair`)
      return value
    case 'number':
      if (!Number.isFinite(value)) throw new TypeError(`field ${name} holds ${value}, which cannot be stored`)
      return value
    case 'bigint':
      return checkInt64(value)
    case 'boolean':
      return value
    case 'object':
      return value === null ? value : checkObject(value, depth, name)
    default:
      throw new TypeError(`field ${name} holds a ${typeof value}, which cannot be stored`)
  }
}

function checkObject(value: object, depth: number, name: string): unknown {
  if (Array.isArray(value)) return checkArray(value, depth + 1, name)
  if (value instanceof Date) {
    if (Number.isNaN(value.getTime())) throw new TypeError(`field ${name} holds an invalid date`)
    return value
  }
  if (value instanceof Uint8Array) return value
  if (!isPlain(value))
    throw new TypeError(`field ${name} holds an instance of a class, which cannot be stored`)
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
  // `Object.prototype` of another realm: the object may come from a worker or a test runner.
  return Object.getPrototypeOf(prototype) === null
}

/**
 * Creates the check of field names, which throws `TypeError`. It remembers valid names in `known`: there are few of them,
 * and checking them is a large part of the cost of a write. Names that come from outside must not fill the memory.
 */
export function createNameCheck(known: Set<string> = new Set()): (name: string) => void {
  return (name) => {
    if (known.has(name)) return
    const refused = name === '' || name === '__proto__' || name === '_bsontype' || name.startsWith('$')
    if (refused || name.includes('.') || name.includes('\0') || !name.isWellFormed()) {
      throw new TypeError(`${JSON.stringify(name)} is not a valid field name`)
    }
    if (known.size < NAMES_KNOWN_MAX) known.add(name)
  }
}

const checkName = createNameCheck()

/** The largest blob in bytes. MongoDB stores it in about 4,100 chunks. */
export const BLOB_BYTES_MAX = 1024 ** 3

/** Throws `TypeError` unless `id` is a safe file name on every system. */
export function checkBlobId(id: string): string {
  if (!/^[A-Za-z0-9_-]{1,128}$/.test(id)) throw new TypeError(`${JSON.stringify(id)} is not a valid blob id`)
  return id
}

/** Throws `TypeError` unless `name` can name a directory and a GridFS bucket. */
export function checkBlobName(name: string): string {
  if (!/^[a-z][a-z0-9_]{0,49}$/.test(name))
    throw new TypeError(`${JSON.stringify(name)} is not a valid name for blobs`)
  return name
}
