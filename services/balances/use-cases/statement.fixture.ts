import { expect } from '@jest/globals'
import type { Collection, Store } from '#lib/store/store.ts'
import { shardOf } from '../domain/shard.ts'
import type { Ledger } from '../ledger.ts'
import type { EntryQuery } from './list-entries.ts'

/** Merchants of a shard of the test environment. */
export function merchantsOfShard(shard: number, count: number): string[] {
  const ids = Array.from({ length: 2_000 }, (_, number) => `m${number}`)
  return ids.filter((id) => shardOf(id, 'test') === shard).slice(0, count)
}

/** Reads all pages of a statement and returns the ids of its entries. */
export async function readStatement(ledger: Ledger, query: EntryQuery): Promise<string[]> {
  const ids: string[] = []
  let after: EntryQuery['after']
  for (;;) {
    const page = await ledger.listEntries({ ...query, after })
    ids.push(...page.map(({ entry }) => entry.id))
    expect(page.length).toBeLessThanOrEqual(query.limit)
    const last = page.at(-1)
    if (last === undefined) return ids
    after = { seq: last.seq, position: last.position }
  }
}

/** A store whose former primary begins to answer, without a document, until the next linearizable read or write ends that. */
export function failingOver(store: Store): { readonly store: Store; begin(): void } {
  let is_behind = false
  const outdated = <D extends object>(collection: Collection<D>): Collection<D> => ({
    ...collection,
    async get(key, options) {
      if (options?.linearizable) is_behind = false
      return is_behind ? undefined : await collection.get(key, options)
    },
    find: async (...query) => (is_behind ? [] : await collection.find(...query)),
    async insert(...write) {
      is_behind = false
      return await collection.insert(...write)
    },
  })
  return {
    store: { ...store, collection: async (spec) => outdated(await store.collection(spec)) },
    begin() {
      is_behind = true
    },
  }
}
