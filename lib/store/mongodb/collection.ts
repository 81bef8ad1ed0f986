import { BSON } from 'mongodb'
import { type Body, checkDocument, checkDocumentSize, checkVersion, firstVersion } from '../check.ts'
import { Conflict, PrecedingWriteFailed } from '../errors.ts'
import { parseCountRange, parseIndexRanges } from '../index-range.ts'
import { checkKeyLength } from '../keys.ts'
import { entryTexts, expiryOf, keyFields, keyText, type Layout } from '../layout.ts'
import type { Collection, Stored } from '../store.ts'
import { type MongoCollection, type StoredDocument, withoutId } from './documents.ts'
import { keyFilter, liveFilter, rangeQuery, rangesQuery } from './filters.ts'
import { createInsertGroups } from './insert-groups.ts'
import { writeUnique } from './write-unique.ts'

/**
 * A collection in MongoDB. Every method is one command for one document, or a bounded loop of such commands. Only grouped
 * inserts share a command.
 */
export function createCollection<D extends object>(target: MongoCollection): Collection<D> {
  const { documents, layout, calls } = target
  const read = layout.is_urgent ? calls.readUrgently : calls.read
  const write = layout.is_urgent ? calls.writeUrgently : calls.write
  const insertGrouped = createInsertGroups(target)

  // The codec returns what was stored, and the caller stored a `D`.
  const typed = (document: StoredDocument): Stored<D> => withoutId(document) as Stored<D>

  return {
    async insert(document, { after, is_grouped = false } = {}) {
      const { stored, size_bytes } = checkStored(layout, document, firstVersion())
      await after?.catch((error: unknown) => {
        throw new PrecedingWriteFailed(error)
      })
      const whole = { ...stored, _id: keyText(layout, stored) }
      let joins_group = is_grouped
      await writeUnique(target, stored, async (deadline) => {
        if (joins_group) {
          // Another try has less time left than the inserts of other callers.
          joins_group = false
          await insertGrouped(whole, size_bytes, deadline)
        } else {
          await write((options) => documents.insertOne(whole, options), deadline)
        }
      })
      return stored
    },
    async get(key, { linearizable = false } = {}) {
      const filter = { ...keyFilter(layout, keyFields(layout, key)), ...liveFilter(target) }
      const concern = concernOf(linearizable)
      const found = await read((options) => documents.findOne(filter, { ...options, ...concern }))
      return found === null ? undefined : typed(found)
    },
    async find(index, range, options) {
      const ranges = parseIndexRanges(layout, index, range, options)
      const { filter, sort, hint } = rangesQuery(target, ranges)
      const [{ limit }] = ranges
      const page = { sort: new Map(sort), hint, limit, batchSize: limit, ...concernOf(options.linearizable) }
      const found = await calls.read((limits) => documents.find(filter, { ...limits, ...page }).toArray())
      return found.map(typed)
    },
    async count(index, range, { limit_ms }) {
      const { index: counted, ...bounds } = parseCountRange(layout, index, range)
      const { filter, hint } = rangeQuery(target, { index: counted, ...bounds, ...WHOLE_RANGE })
      const field = counted.paths.at(-1)?.join('.')
      const stages = [{ $match: filter }, { $group: { _id: `$${field}`, count: { $sum: 1 } } }]
      const deadline = calls.startDeadline(limit_ms)
      // After it no former primary is asked, whose moment may lack what was answered. MongoDB has no linearizable aggregate.
      const first = { hint, projection: { _id: 1 }, ...concernOf(true) }
      await calls.read((limits) => documents.findOne(filter, { ...limits, ...first }), deadline)
      const groups = await calls.read(
        (limits) => documents.aggregate(stages, { ...limits, hint, ...ONE_MOMENT }).toArray(),
        deadline,
      )
      return new Map(groups.map(({ _id, count }) => [checkCounted(_id), Number(count)]))
    },
    async replace(document, expected_version) {
      checkVersion(expected_version)
      const { stored } = checkStored(layout, document, expected_version + 1)
      const identity = keyFilter(layout, stored)
      await writeUnique(target, stored, async (deadline) => {
        const filter = { ...identity, version: expected_version, ...liveFilter(target) }
        const { matchedCount } = await write(
          (options) => documents.replaceOne(filter, stored, options),
          deadline,
        )
        if (matchedCount === 0) throw new Conflict(`${layout.name}: not at version ${expected_version}`)
      })
      return stored
    },
    async delete(key, expected_version) {
      checkVersion(expected_version)
      const identity = keyFilter(layout, keyFields(layout, key))
      const filter = { ...identity, version: expected_version, ...liveFilter(target) }
      const { deletedCount } = await write((options) => documents.deleteOne(filter, options))
      if (deletedCount === 0) throw new Conflict(`${layout.name}: not at version ${expected_version}`)
    },
  }
}

const WHOLE_RANGE = { after: undefined, limit: 1, reverse: false } as const

/**
 * The read concern of a count: all of it sees one majority-committed moment. Without it, a server that yields between
 * entries meets the same document before and after a change of its last field. The primary's moment contains every write
 * that was acknowledged before.
 */
const ONE_MOMENT = { readConcern: { level: 'snapshot' } } as const

function checkCounted(value: unknown): string {
  if (typeof value !== 'string') throw new TypeError('a document has no text in the field that is counted')
  return value
}

/** The read concern of a linearizable read. Every other read has the one of the client. */
function concernOf(linearizable = false): { readonly readConcern?: { readonly level: 'linearizable' } } {
  return linearizable ? { readConcern: { level: 'linearizable' } } : {}
}

/** Makes the same checks as the embedded store, so that both stores accept the same documents. */
function checkStored<D extends object>(
  layout: Layout,
  document: D,
  version: number,
): { readonly stored: Stored<D> & Body; readonly size_bytes: number } {
  const stored = checkDocument(document, version)
  const key = keyText(layout, stored)
  expiryOf(layout, stored)
  const size_bytes = BSON.calculateObjectSize(stored)
  checkDocumentSize(size_bytes)
  for (const index of layout.indexes) {
    for (const text of entryTexts(index, stored)) checkKeyLength(text, key)
  }
  return { stored, size_bytes }
}
