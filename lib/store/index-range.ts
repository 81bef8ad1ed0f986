import type { Body } from './check.ts'
import { type KeyPart, keyPartsText, keyPartText, kindRange } from './keys.ts'
import { type Index, keyText, type Layout, valueAt } from './layout.ts'
import type { FindOptions, Range } from './store.ts'

const LIMIT_MAX = 1_000
const RANGES_MAX = 64
/** Sorts after every continuation of a key part, because characters up to this one are escaped inside a part. */
const PAST = '!'

/** A checked `find`: the index, the part of it to read, and the position to start after. */
export interface IndexRange {
  readonly index: Index
  readonly equals: readonly KeyPart[]
  readonly from: KeyPart | undefined
  readonly to: KeyPart | undefined
  /** The index values and the key of the last document of the previous page. */
  readonly after: { readonly values: readonly KeyPart[]; readonly key: string } | undefined
  readonly limit: number
  readonly reverse: boolean
}

/** Checks the arguments of `find`. Throws `TypeError` for a find that an index or a sharded cluster cannot serve. */
export function parseIndexRange(
  layout: Layout,
  name: string,
  range: Range,
  options: FindOptions,
): IndexRange {
  const index = name === 'key' ? layout.identity : layout.indexes.find((candidate) => candidate.name === name)
  const place = `${layout.name}: find ${name}`
  if (index === undefined) throw new TypeError(`${place}: no such index`)
  const { equals = [], from, to } = range
  const { limit, reverse = false } = options
  if (!Number.isInteger(limit) || limit < 1 || limit > LIMIT_MAX) {
    throw new TypeError(`${place}: the limit must be 1 to ${LIMIT_MAX}`)
  }
  if (!index.across_partitions && equals.length === 0) {
    throw new TypeError(`${place}: the range must fix ${layout.partition[0]}`)
  }
  const bounded = from !== undefined || to !== undefined
  if (equals.length + (bounded ? 1 : 0) > index.paths.length) throw new TypeError(`${place}: too many values`)
  if (index.many && equals.length < index.paths.length) {
    throw new TypeError(`${place}: an index over array elements needs the element to find`)
  }
  if (from !== undefined && to !== undefined && kindRange(from) !== kindRange(to)) {
    throw new TypeError(`${place}: from and to have different types`)
  }
  for (const value of [...equals, from, to]) {
    if (value === null) throw new TypeError(`${place}: null cannot be a bound`)
    keyPartText(value)
  }
  return { index, equals, from, to, after: position(layout, index, equals, options.after), limit, reverse }
}

/**
 * Checks the arguments of a `find` that may read several ranges. Each of the result has the whole limit, and a position of its own in
 * its range. Throws `TypeError` as `parseIndexRange` does, and for several ranges that cannot be read as one.
 */
export function parseIndexRanges(
  layout: Layout,
  name: string,
  range: Range | readonly Range[],
  options: FindOptions,
): readonly [IndexRange, ...IndexRange[]] {
  if (!areSeveral(range)) return [parseIndexRange(layout, name, range, options)]
  const place = `${layout.name}: find ${name}`
  const [first, ...others] = range.map((each) => inOwnRange(parseIndexRange(layout, name, each, options)))
  if (first === undefined || others.length >= RANGES_MAX)
    throw new TypeError(`${place}: a find reads 1 to ${RANGES_MAX} ranges`)
  if (first.index.unique || first.index.many || first.reverse)
    throw new TypeError(
      `${place}: several ranges are read forwards, of an index that is not unique and not of elements`,
    )
  const values = [first, ...others].map(({ equals }) => keyPartsText(equals))
  if (new Set(values).size < values.length || [first, ...others].some(({ equals }) => equals.length !== 1))
    throw new TypeError(`${place}: each of several ranges fixes the first field, by a value of its own`)
  return [first, ...others]
}

function areSeveral(range: Range | readonly Range[]): range is readonly Range[] {
  return Array.isArray(range)
}

/** The range with the position, which may be of a document of another range, as a position in this one. */
function inOwnRange(range: IndexRange): IndexRange {
  const { equals, after } = range
  return { ...range, after: after && { ...after, values: [...equals, ...after.values.slice(equals.length)] } }
}

/** A checked `count`: the index, and the part of it to read. */
export type CountRange = Pick<IndexRange, 'index' | 'equals' | 'from' | 'to'>

/** Checks the arguments of `count`. Throws `TypeError` for an index or a range that cannot be counted. */
export function parseCountRange(layout: Layout, name: string, range: Range): CountRange {
  const parsed = parseIndexRange(layout, name, range, { limit: 1 })
  const { index, equals, from, to } = parsed
  const place = `${layout.name}: count ${name}`
  if (index.unique || index.many || index.where !== undefined || layout.expires !== undefined) {
    throw new TypeError(`${place}: only an index of all documents, none of which expires, can be counted`)
  }
  const fixed = equals.length + (from === undefined && to === undefined ? 0 : 1)
  if (fixed === index.paths.length) throw new TypeError(`${place}: the range fixes the field that is counted`)
  return { index, equals, from, to }
}

/** The first key text inside the range and the first one after it, both with `head` in front if given. */
export function rangeBounds({ equals, from, to }: CountRange, head?: string): [low: string, high: string] {
  const fixed = [...(head === undefined ? [] : [head]), ...equals.map(keyPartText)].join(' ')
  const bound = from ?? to
  if (bound === undefined) return [fixed, fixed + PAST]
  const kind = kindRange(bound)
  return [
    `${fixed} ${from === undefined ? kind.first : keyPartText(from)}`,
    `${fixed} ${to === undefined ? kind.past : keyPartText(to)}`,
  ]
}

function position(
  layout: Layout,
  index: Index,
  equals: readonly KeyPart[],
  after: FindOptions['after'],
): IndexRange['after'] {
  if (after === undefined) return undefined
  const values = index.many ? equals : index.paths.map((path) => partAt(after, path))
  return { values, key: keyText(layout, after) }
}

function partAt(document: Body, path: readonly string[]): KeyPart {
  const value = valueAt(document, path)
  if (value === undefined || value === null) return null
  if (typeof value === 'string' || typeof value === 'number' || typeof value === 'bigint') return value
  if (value instanceof Date) return value
  throw new TypeError(`${path.join('.')}: cannot be a position in an index`)
}
