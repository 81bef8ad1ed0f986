import { expect, test } from '@jest/globals'
import fc from 'fast-check'
import { propertyRuns } from '../../../test/support/property-runs.ts'
import { CHECKPOINT_PART_ROWS } from '../limits.ts'
import { createPagedRows, type RowPage } from './paged-rows.ts'
import { type Hold, ROW_TABLES } from './rows.ts'

/** A hold as a text, such as `a=1`: its id, which is its key, and its amount. */
const toText = ({ id, amount }: Hold): string => `${id}=${amount}`

function toHold(text: string): Hold {
  const [id = '', amount = ''] = text.split('=')
  return { id, merchant_id: '', currency: 'INR', amount: BigInt(amount) }
}

function createTexts() {
  const rows = createPagedRows('holds')
  return {
    ...rows,
    set: (key: string, text: string) => rows.set(key, toHold(text)),
    rows: () => rows.rows().map(toText),
    load: (texts: readonly string[], part_id: string) => rows.load(texts.map(toHold), part_id),
  }
}

const { sizeOf } = ROW_TABLES.holds

type Texts = ReturnType<typeof createTexts>

const textsOf = (page: RowPage): readonly string[] => (page.rows().holds ?? []).map(toText)

/** Stores the changed pages as a checkpoint does. Returns the number of rows that it wrote. */
function save(rows: Texts, parts: Map<string, readonly string[]>): number {
  let written = 0
  rows.mergePages()
  const kept = new Set<string>()
  for (const page of rows.pages()) {
    expect(page.count()).toBeLessThanOrEqual(CHECKPOINT_PART_ROWS)
    const stored = page.storedPart()
    const id = stored ?? `part ${parts.size} ${kept.size} ${Math.random()}`
    if (stored === undefined) {
      parts.set(id, textsOf(page))
      page.markStored(id, page.version())
      written += page.count()
    }
    kept.add(id)
  }
  for (const id of parts.keys()) if (!kept.has(id)) parts.delete(id)
  return written
}

const sorted = (texts: Iterable<string>): string[] => [...texts].sort()

test('the stored pages have all rows after any changes, are few, and make the same rows again', () => {
  const range = fc.record({
    from: fc.integer({ min: 0, max: 4_000 }),
    count: fc.integer({ min: 1, max: 2_500 }),
    step: fc.integer({ min: 1, max: 40 }),
  })
  const change = fc.record({
    kind: fc.constantFrom('set', 'set', 'delete', 'save', 'load'),
    range,
  })
  const property = fc.property(fc.array(change, { minLength: 1, maxLength: 25, size: 'max' }), (changes) => {
    const model = new Map<string, string>()
    const parts = new Map<string, readonly string[]>()
    let rows = createTexts()
    for (const [number, { kind, range }] of changes.entries()) {
      for (let at = range.from; at < range.from + range.count; at += range.step) {
        if (kind === 'set') {
          rows.set(`${at}`, `${at}=${number}`)
          model.set(`${at}`, `${at}=${number}`)
        } else if (kind === 'delete') {
          rows.delete(`${at}`)
          model.delete(`${at}`)
        }
      }
      if (kind === 'save' || kind === 'load') {
        save(rows, parts)
        expect(sorted([...parts.values()].flat())).toEqual(sorted(model.values()))
        expect(parts.size).toBeLessThanOrEqual((2 * model.size) / CHECKPOINT_PART_ROWS + 1)
        expect(save(rows, parts)).toBe(0)
      }
      if (kind === 'load') {
        rows = createTexts()
        for (const [id, texts] of parts) rows.load(texts, id)
        expect(save(rows, parts)).toBe(0)
      }
      expect(rows.count()).toBe(model.size)
      expect(rows.sizeBytes()).toBe([...model.values()].reduce((sum, text) => sum + sizeOf(toHold(text)), 0))
      expect(sorted(rows.rows())).toEqual(sorted(model.values()))
    }
  })
  fc.assert(property, { numRuns: propertyRuns(150) })
})

function setTexts(rows: Texts, name: string, count: number): string[] {
  const keys = Array.from({ length: count }, (_, number) => `${name}${number}`)
  for (const key of keys) rows.set(key, `${key}=1`)
  return keys
}

test('a row that comes after the last one was deleted is stored', () => {
  const rows = createTexts()
  const parts = new Map<string, readonly string[]>()
  for (const key of setTexts(rows, 'a', 2)) rows.delete(key)
  rows.set('b', 'b=1')
  save(rows, parts)
  expect([...parts.values()]).toEqual([['b=1']])
})

test('rows that are more than one page has are all stored', () => {
  const rows = createTexts()
  const parts = new Map<string, readonly string[]>()
  setTexts(rows, 'a', 2 * CHECKPOINT_PART_ROWS + 1)
  rows.delete('a0')
  save(rows, parts)
  expect([...parts.values()].flat()).toHaveLength(2 * CHECKPOINT_PART_ROWS)
})

test('when all rows of a page are deleted, no other page is stored again', () => {
  const rows = createTexts()
  const parts = new Map<string, readonly string[]>()
  const first = setTexts(rows, 'a', CHECKPOINT_PART_ROWS)
  setTexts(rows, 'b', CHECKPOINT_PART_ROWS + 1)
  save(rows, parts)
  for (const key of first) rows.delete(key)
  expect(save(rows, parts)).toBe(0)
  expect([...parts.values()].flat()).toHaveLength(CHECKPOINT_PART_ROWS + 1)
})

test('a page that was changed while it was stored is stored again', () => {
  const rows = createTexts()
  rows.set('a', 'a=1')
  const [page] = rows.pages()
  const version = page?.version() ?? 0
  rows.set('a', 'a=2')
  page?.markStored('part', version)
  expect(page?.storedPart()).toBeUndefined()
})
