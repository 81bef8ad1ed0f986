import type { Store } from '#lib/store/store.ts'
import { SHARDS } from '../domain/shard.ts'
import { JOURNAL, type JournalDocument } from './journal.ts'

/** The newest batches of a shard that give the mean number of its entries per batch. */
const SAMPLE = 20

/**
 * About how many entries each shard has committed since an instant: its batches times the entries of its newest ones, because a
 * busy shard commits large batches and not many. A shard without any weighs 1.
 */
export async function weighShards(store: Store, since: Date): Promise<readonly number[]> {
  const journal = await store.collection<JournalDocument>(JOURNAL)
  const weights: number[] = []
  for (let shard = 0; shard < SHARDS; shard += 1) {
    const range = { equals: [shard] }
    const [first] = await journal.find('by_time', { ...range, from: since }, { limit: 1, without_body: true })
    const newest = await journal.find('key', range, { limit: SAMPLE, reverse: true, without_body: true })
    const [last] = newest
    if (first === undefined || last === undefined) {
      weights.push(1)
      continue
    }
    const entries = newest.reduce((sum, { ids }) => sum + ids.length, 0)
    weights.push((Number(last.seq - first.seq + 1n) * entries) / newest.length)
  }
  return weights
}
