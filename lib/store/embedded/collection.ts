import { checkDocument, checkVersion, firstVersion } from '../check.ts'
import { Conflict, Duplicate } from '../errors.ts'
import { parseCountRange, parseIndexRanges } from '../index-range.ts'
import { keyFields, keyText, type Layout } from '../layout.ts'
import type { Collection, Stored } from '../store.ts'
import type { KeyPrefixes } from './catalog.ts'
import { countDocuments } from './count.ts'
import { type Documents, isExpired } from './documents.ts'
import type { LmdbEnvironment } from './environment.ts'
import { findDocuments } from './find.ts'
import { documentOf } from './record.ts'
import type { PlannedWrite } from './writer.ts'

/** A collection of the embedded store whose indexes are complete. */
export function createCollection<D extends object>(
  environment: LmdbEnvironment,
  layout: Layout,
  prefixes: KeyPrefixes,
  documents: Documents,
): Collection<D> {
  // The codec returns what was stored, and the caller stored a `D`.
  const typed = (document: Record<string, unknown>): Stored<D> => document as Stored<D>

  /** The promise is the writer's own, so that another write can follow this one. */
  function write(
    document: D,
    expected_version: number | undefined,
    after?: Promise<unknown>,
  ): Promise<Stored<D>> {
    const stored = checkDocument(
      document,
      expected_version === undefined ? firstVersion() : expected_version + 1,
    )
    const prepared = documents.prepare(keyText(layout, stored), stored)
    const decide = (): PlannedWrite<Stored<D>> => {
      const before = documents.header(prepared.key)
      const live = before !== undefined && !isExpired(before)
      if (expected_version === undefined) {
        if (live) throw new Duplicate(layout.name, 'key')
      } else if (!live || before.version !== expected_version) {
        throw new Conflict(`${layout.name}: not at version ${expected_version}`)
      }
      return { result: stored, apply: documents.planPut(prepared, before) }
    }
    return environment.write(decide, after)
  }

  return {
    insert(document, { after } = {}) {
      try {
        return write(document, undefined, after)
      } catch (error) {
        return Promise.reject(error)
      }
    },
    async replace(document, expected_version) {
      checkVersion(expected_version)
      return await write(document, expected_version)
    },
    async get(key) {
      const text = keyText(layout, keyFields(layout, key))
      return environment.read(() => {
        const record = documents.read(text)
        return record && typed(documentOf(record))
      })
    },
    async find(index, range, options) {
      const ranges = parseIndexRanges(layout, index, range, options)
      return environment.read(() => findDocuments(environment.table, prefixes, documents, ranges).map(typed))
    },
    count: async (index, range, { limit_ms }) =>
      countDocuments(environment, prefixes, layout, parseCountRange(layout, index, range), limit_ms),
    async delete(key, expected_version) {
      checkVersion(expected_version)
      const text = keyText(layout, keyFields(layout, key))
      await environment.write(() => {
        const before = documents.header(text)
        if (before === undefined || isExpired(before) || before.version !== expected_version) {
          throw new Conflict(`${layout.name}: not at version ${expected_version}`)
        }
        return { result: undefined, apply: () => documents.remove(text, before) }
      })
    },
  }
}
