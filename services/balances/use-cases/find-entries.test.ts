import { expect, test } from '@jest/globals'
import { adjustmentId, settlementId } from '../domain/command.ts'
import { shardOf } from '../domain/shard.ts'
import { findEntries } from './find-entries.ts'

/** The shards that a search of an id asks. */
async function askedFor(entry_id: string, merchant_id?: string): Promise<readonly number[]> {
  const asked: number[] = []
  const findByEntryId = async (shard: number) => {
    asked.push(shard)
    return []
  }
  await findEntries({ findByEntryId }, entry_id, merchant_id)
  return asked
}

// O6.4
test('only the shards that can have an entry with the id are asked', async () => {
  const of_merchant = [shardOf('7001', 'test'), shardOf('7001', 'production')]
  for (const id of [adjustmentId('7001', 'a:b'), settlementId('7001', 'a')])
    expect(await askedFor(id)).toEqual(of_merchant)
  // The id of another merchant's adjustment costs as much as any other text.
  expect(await askedFor(adjustmentId('7002', 'a'), '7001')).toEqual(of_merchant)
  expect(await askedFor('019aa5b0-7c00-7000-8000-000000000001:credit')).toHaveLength(256)
  expect(await askedFor('order-1')).toEqual([])
})
