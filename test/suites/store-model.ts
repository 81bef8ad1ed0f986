import { Conflict, Duplicate } from '#lib/store/errors.ts'
import type { Fields, FindOptions, Range, Stored } from '#lib/store/store.ts'
import type { Item } from './store.suite.ts'

/**
 * A model of a store with the collection `ITEMS`: a list that every operation searches and sorts. The store under test
 * chooses the first versions of documents at random, so the caller passes them to the model.
 */
export interface StoreModel {
  insert(document: Item, first_version: number): Stored<Item>
  get(key: Fields): Stored<Item> | undefined
  find(index: string, range: Range, options: FindOptions): Stored<Item>[]
  replace(document: Item, expected_version: number): Stored<Item>
  delete(key: Fields, expected_version: number): void
}

type Values = readonly unknown[]

// The entries of a document in each index: one list of values per entry.
const INDEXES: Record<string, (item: Item) => Values[]> = {
  key: (item) => [[item.shop, item.id]],
  by_rank: (item) => [[item.shop, item['rank'] ?? null]],
  by_code: (item) => (item['code'] === undefined ? [] : [[item.shop, item['code']]]),
  by_tag: (item) => [...new Set(listOf(item['tags']))].map((tag) => [item.shop, tag]),
  by_serial: (item) => [...new Set(listOf(item['serials']))].map((serial) => [item.shop, serial]),
}
const UNIQUE = ['key', 'by_code', 'by_serial']

/** Creates an empty model. */
export function createModel(): StoreModel {
  const items: Stored<Item>[] = []
  const positionOf = (key: Readonly<Record<string, unknown>>): number =>
    items.findIndex(({ shop, id }) => shop === key['shop'] && compare(id, key['id']) === 0)

  function claim(document: Item, ignored: number): void {
    for (const index of UNIQUE) {
      for (const entry of INDEXES[index]?.(document) ?? []) {
        const held = items.some((item, position) => position !== ignored && hasEntry(index, item, entry))
        if (held) throw new Duplicate('items', index)
      }
    }
  }

  return {
    insert(document, first_version) {
      claim(document, -1)
      const stored = { ...document, version: first_version }
      items.push(stored)
      return stored
    },
    get: (key) => items[positionOf(key)],
    find(index, range, { limit, after, reverse = false }) {
      const found = items.flatMap((item) =>
        (INDEXES[index]?.(item) ?? [])
          .filter((entry) => inRange(entry, range))
          .map((entry) => ({ entry, item })),
      )
      const ordered = found
        .map(({ entry, item }) => ({ item, position: [...entry, item.shop, item.id] }))
        .sort((left, right) => compareAll(left.position, right.position) * (reverse ? -1 : 1))
      const start =
        after === undefined ? undefined : ordered.find(({ item }) => positionOf(item) === positionOf(after))
      const past = ordered.filter(
        ({ position }) =>
          start === undefined || compareAll(position, start.position) * (reverse ? -1 : 1) > 0,
      )
      return past.slice(0, limit).map(({ item }) => item)
    },
    replace(document, expected_version) {
      const position = positionOf({ shop: document.shop, id: document.id })
      if (items[position]?.version !== expected_version) throw new Conflict('items')
      claim(document, position)
      const stored = { ...document, version: expected_version + 1 }
      items[position] = stored
      return stored
    },
    delete(key, expected_version) {
      const position = positionOf(key)
      if (items[position]?.version !== expected_version) throw new Conflict('items')
      items.splice(position, 1)
    },
  }
}

function hasEntry(index: string, item: Item, entry: Values): boolean {
  return (INDEXES[index]?.(item) ?? []).some((held) => compareAll(held, entry) === 0)
}

function inRange(entry: Values, { equals = [], from, to }: Range): boolean {
  if (!equals.every((value, at) => compare(entry[at], value) === 0)) return false
  const next = entry[equals.length]
  const bound = from ?? to
  if (bound !== undefined && kindOf(next) !== kindOf(bound)) return false
  return (from === undefined || compare(next, from) >= 0) && (to === undefined || compare(next, to) < 0)
}

function compareAll(left: Values, right: Values): number {
  for (const [at, value] of left.entries()) {
    const order = compare(value, right[at])
    if (order !== 0) return order
  }
  return 0
}

function compare(left: unknown, right: unknown): number {
  const kinds = kindOf(left) - kindOf(right)
  if (kinds !== 0) return kinds
  if (typeof left === 'string') return Buffer.compare(Buffer.from(left), Buffer.from(String(right)))
  const [a, b] = [left, right] as [bigint, bigint]
  return a < b ? -1 : a > b ? 1 : 0
}

function kindOf(value: unknown): number {
  if (value === null || value === undefined) return 0
  if (typeof value === 'number' || typeof value === 'bigint') return 1
  return typeof value === 'string' ? 2 : 3
}

function listOf(value: unknown): unknown[] {
  return Array.isArray(value) ? value : []
}
