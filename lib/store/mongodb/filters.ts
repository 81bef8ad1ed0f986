import type { Body } from '../check.ts'
import { type IndexRange, rangeBounds } from '../index-range.ts'
import { type KeyPart, keyPartsText } from '../keys.ts'
import { dotted, type Index, keyText, type Layout, valueAt } from '../layout.ts'
import type { Condition, MongoCollection } from './documents.ts'

/** Matches the document with this key. It names `_id` and the key's fields, so that a cluster asks one server only. */
export function keyFilter(layout: Layout, fields: Body): Condition & { readonly _id: string } {
  const key = layout.key.map((field) => [field, fields[field]])
  return { _id: keyText(layout, fields), ...Object.fromEntries(key) }
}

/** Matches documents that have not expired. MongoDB deletes expired ones only once per minute. */
export function liveFilter({ layout, now_ms }: Pick<MongoCollection, 'layout' | 'now_ms'>): Condition {
  return layout.expires === undefined ? {} : { [layout.expires]: { $not: { $lte: new Date(now_ms()) } } }
}

/**
 * Matches the documents that hold a unique value of this document in an index: the holders. `undefined` if the index does
 * not contain this document.
 */
export function holderFilter(index: Index, document: Body): Condition | undefined {
  if (index.where !== undefined && valueAt(document, index.where) === undefined) return undefined
  const conditions = index.paths.map((path, at) => {
    const value = valueAt(document, path)
    const is_element = index.many && at === index.paths.length - 1
    return { [dotted(path)]: is_element ? { $in: value } : (value ?? null) }
  })
  return all([...conditions, ...presence(index)])
}

/** The filter, order and index hint of a range. */
export function rangeQuery(
  target: Pick<MongoCollection, 'layout' | 'now_ms'>,
  range: IndexRange,
): { filter: Condition; sort: ReadonlyMap<string, 1 | -1>; hint: string } {
  const { index, equals } = range
  const direction = range.reverse ? -1 : 1
  const fixed = equals.map((value, at) => ({ [pathOf(index, at)]: value }))
  if (index === target.layout.identity) {
    return {
      filter: all([...fixed, ...idConditions(range), liveFilter(target)]),
      sort: new Map([['_id', direction]]),
      hint: '_id_',
    }
  }
  const order = index.paths.slice(equals.length).map(dotted)
  if (!index.unique) order.push('_id')
  const conditions = [...fixed, ...rangeConditions(range), ...presence(index), liveFilter(target)]
  if (range.after !== undefined) {
    const values = [...range.after.values.slice(equals.length), range.after.key]
    conditions.push(afterPosition(order, values, range.reverse))
  }
  return { filter: all(conditions), sort: new Map(order.map((path) => [path, direction])), hint: index.name }
}

/** The same for several ranges, each of which fixes the first field by a value of its own. */
export function rangesQuery(
  target: Pick<MongoCollection, 'layout' | 'now_ms'>,
  [first, ...others]: readonly [IndexRange, ...IndexRange[]],
): ReturnType<typeof rangeQuery> {
  const one = rangeQuery(target, first)
  if (others.length === 0) return one
  const { index, after } = first
  // Ranges with the same bounds share a condition: the server merges what it reads for each value of `$in`.
  const same_bounds = Map.groupBy([first, ...others], ({ from, to }) => keyPartsText([from, to]))
  const field = pathOf(index, 0)
  const alternatives = [...same_bounds.values()].map((same) =>
    all([{ [field]: { $in: same.flatMap(({ equals }) => equals) } }, ...rangeConditions(same[0] ?? first)]),
  )
  const conditions = [{ $or: alternatives }, ...presence(index), liveFilter(target)]
  if (after !== undefined) {
    const order = [...one.sort.keys()]
    const [next = null, ...rest] = [...after.values.slice(first.equals.length), after.key]
    // The first condition bounds what the server reads, the second one leaves out what the page before has.
    if (next !== null && order[0] !== undefined) conditions.push({ [order[0]]: { $gte: next } })
    conditions.push(afterPosition(order, [next, ...rest], false))
  }
  return { ...one, filter: all(conditions) }
}

function idConditions(range: IndexRange): Condition[] {
  const [low, high] = rangeBounds(range)
  const { after, reverse } = range
  const resumed = after === undefined ? [] : [{ _id: { [reverse ? '$lt' : '$gt']: after.key } }]
  return [{ _id: { $gte: low } }, { _id: { $lt: high } }, ...resumed]
}

function rangeConditions({ index, equals, from, to }: IndexRange): Condition[] {
  const path = pathOf(index, equals.length)
  return [
    ...(from === undefined ? [] : [{ [path]: { $gte: from } }]),
    ...(to === undefined ? [] : [{ [path]: { $lt: to } }]),
  ]
}

/** Matches documents after a position: greater in the first field, or equal in it and greater in the second, and so on. */
function afterPosition(order: readonly string[], values: readonly KeyPart[], reverse: boolean): Condition {
  const alternatives: Condition[] = []
  order.forEach((path, at) => {
    const same = order.slice(0, at).map((earlier, position) => ({ [earlier]: values[position] ?? null }))
    const after = afterValue(path, values[at] ?? null, reverse)
    if (after !== undefined) alternatives.push(all([...same, after]))
  })
  return alternatives.length === 0 ? NOTHING : { $or: alternatives }
}

const NOTHING: Condition = { _id: { $in: [] } }

/** MongoDB compares values of one type only, so null, which sorts before every value, needs its own conditions. */
function afterValue(path: string, value: KeyPart, reverse: boolean): Condition | undefined {
  if (!reverse) return value === null ? { [path]: { $ne: null } } : { [path]: { $gt: value } }
  return value === null ? undefined : { $or: [{ [path]: { $lt: value } }, { [path]: null }] }
}

/** The condition of a partial index, which a query must repeat to use that index. */
function presence(index: Index): Condition[] {
  return index.where === undefined ? [] : [{ [dotted(index.where)]: { $exists: true } }]
}

function all(conditions: readonly Condition[]): Condition {
  const given = conditions.filter((condition) => Object.keys(condition).length > 0)
  const [only] = given
  if (given.length < 2) return only ?? {}
  return { $and: given }
}

function pathOf(index: Index, at: number): string {
  return dotted(index.paths[at] ?? [])
}
