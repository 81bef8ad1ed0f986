import type { Body } from './check.ts'
import { checkKeyLength, keyPartsText } from './keys.ts'
import type { CollectionSpec, IndexSpec } from './store.ts'

/** The path to a field inside a document. */
export type Path = readonly string[]

/** An index as the adapters use it. `many` means: the last path names an array whose elements are indexed. */
export interface Index {
  readonly name: string
  readonly paths: readonly Path[]
  readonly many: boolean
  readonly unique: boolean
  readonly where: Path | undefined
  readonly across_partitions: boolean
}

/** A checked declaration of a collection. `identity` is its key in the form of an index. */
export interface Layout {
  readonly name: string
  readonly partition: readonly string[]
  readonly key: readonly string[]
  readonly identity: Index
  readonly indexes: readonly Index[]
  readonly expires: string | undefined
  readonly ranges: number | undefined
  readonly is_urgent: boolean
}

const COLLECTION_NAME = /^[a-z][a-z0-9_]{0,49}$/
const FIELD_NAME = /^[A-Za-z_][A-Za-z0-9_]{0,63}$/
const INDEXES_MAX = 24
const RESERVED = ['key', 'expires', '_id', 'version']

/**
 * Checks a declaration. Throws `TypeError` for one that a sharded cluster cannot serve: the key and every unique index
 * must begin with the whole partition, and every other index with its first field unless it is declared
 * `across_partitions`.
 */
export function parseLayout(spec: CollectionSpec): Layout {
  const { name, partition, key, indexes = {}, expires, ranges, is_urgent = false } = spec
  if (!COLLECTION_NAME.test(name))
    throw new TypeError(`${JSON.stringify(name)} is not a valid name for a collection`)
  for (const field of [...key, ...(expires === undefined ? [] : [expires])]) checkField(name, field)
  if (partition.length === 0 || !startsWith(key, partition)) {
    throw new TypeError(`${name}: the key must begin with the partition`)
  }
  if (ranges !== undefined && partition.length !== 1) {
    throw new TypeError(`${name}: ranges need a partition of one field`)
  }
  const names = Object.keys(indexes)
  if (names.length > INDEXES_MAX) throw new TypeError(`${name}: more than ${INDEXES_MAX} indexes`)
  const identity: Index = {
    name: 'key',
    paths: key.map((field) => [field]),
    many: false,
    unique: true,
    where: undefined,
    across_partitions: false,
  }
  const declared = Object.entries(indexes).map(([index, given]) => parseIndex(spec, index, given))
  return { name, partition, key, identity, indexes: declared, expires, ranges, is_urgent }
}

/** The value at a path, or `undefined`. Throws `TypeError` when the path crosses an array. */
export function valueAt(document: Body, path: Path): unknown {
  let value: unknown = document
  for (const field of path) {
    if (Array.isArray(value))
      throw new TypeError(`${path.join('.')} crosses an array; end it in [] to index one`)
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, field)) return undefined
    value = (value as Body)[field]
  }
  return value
}

/** A path in dotted form. */
export function dotted(path: Path): string {
  return path.join('.')
}

/** Encodes the key of a document. Throws `TypeError` when a field of the key is missing. */
export function keyText(layout: Layout, fields: Body): string {
  const parts = layout.key.map((field) => {
    const value = fields[field]
    if (value === undefined || value === null)
      throw new TypeError(`${layout.name}: key field ${field} is missing`)
    return value
  })
  const text = keyPartsText(parts)
  checkKeyLength(text)
  return text
}

/** Checks that `key` has exactly the fields of the collection's key. Throws `TypeError` otherwise. */
export function keyFields(layout: Layout, key: Readonly<Record<string, unknown>>): Body {
  const names = Object.keys(key)
  if (names.length !== layout.key.length || !layout.key.every((field) => Object.hasOwn(key, field))) {
    throw new TypeError(`${layout.name}: a key has exactly the fields ${layout.key.join(', ')}`)
  }
  return key
}

/** The expiry time of a document in milliseconds since 1970, or infinity. Throws `TypeError` if it is not a date. */
export function expiryOf(layout: Layout, document: Body): number {
  const expires = layout.expires === undefined ? undefined : document[layout.expires]
  if (expires === undefined || expires === null) return Number.POSITIVE_INFINITY
  if (expires instanceof Date) return expires.getTime()
  throw new TypeError(`${layout.name}: ${layout.expires} is not a date`)
}

/**
 * The entries of a document in an index, encoded; none when the document is not in the index. An array whose elements
 * must be unique may not be empty, because MongoDB treats all empty arrays as the same value.
 */
export function entryTexts(index: Index, document: Body): string[] {
  if (index.where !== undefined && valueAt(document, index.where) === undefined) return []
  const values = index.paths.map((path) => valueAt(document, path))
  if (!index.many) return [keyPartsText(values)]
  const elements = values.pop()
  if (!Array.isArray(elements)) throw new TypeError(`index ${index.name}: ${last(index)} holds no array`)
  if (elements.length === 0 && index.unique) {
    throw new TypeError(`index ${index.name}: leave ${last(index)} out instead of storing it empty`)
  }
  const texts = elements.map((element) => {
    if (element === null) throw new TypeError(`index ${index.name}: ${last(index)} holds null`)
    return keyPartsText([...values, element])
  })
  return [...new Set(texts)]
}

function parseIndex(spec: CollectionSpec, name: string, given: IndexSpec): Index {
  const where = `${spec.name}: index ${name}`
  checkField(spec.name, name)
  if (RESERVED.includes(name)) throw new TypeError(`${where}: this name is reserved`)
  if (given.fields.length === 0) throw new TypeError(`${where} has no fields`)
  const many = given.fields.at(-1)?.endsWith('[]') ?? false
  const fields = given.fields.map((field, at) =>
    many && at === given.fields.length - 1 ? field.slice(0, -2) : field,
  )
  for (const field of fields.flatMap((path) => path.split('.'))) checkField(spec.name, field)
  if (given.unique && !startsWith(fields, spec.partition)) {
    throw new TypeError(`${where} is unique and must begin with the partition`)
  }
  if (!given.across_partitions && fields[0] !== spec.partition[0]) {
    throw new TypeError(`${where} must begin with ${spec.partition[0]}, or be declared across_partitions`)
  }
  const condition = given.where ?? (many ? fields.at(-1) : undefined)
  return {
    name,
    paths: fields.map((field) => field.split('.')),
    many,
    unique: given.unique ?? false,
    where: condition?.split('.'),
    across_partitions: given.across_partitions ?? false,
  }
}

function checkField(collection: string, field: string): void {
  if (!FIELD_NAME.test(field) || field === 'version' || field === '_id' || field === '__proto__') {
    throw new TypeError(`${collection}: ${JSON.stringify(field)} cannot be part of a key or an index`)
  }
}

function startsWith(fields: readonly string[], start: readonly string[]): boolean {
  return start.every((field, at) => fields[at] === field)
}

function last(index: Index): string {
  return index.paths.at(-1)?.join('.') ?? ''
}
