import { expect, test } from '@jest/globals'
import { credit } from '../ledger.fixture.ts'
import type { Batch, Entry } from './entry.ts'
import { EMPTY_JOURNAL, sealBatch } from './hash-chain.ts'
import { createRecentEntries } from './shard-state.ts'

function batch(seq: bigint, ...ids: string[]): Batch {
  const entries = ids.map((id): Entry => ({ ...credit(id, 1n), kind: 'transfer', available: 1n, held: 0n }))
  return sealBatch({ shard: 1, seq, time: new Date(0) }, EMPTY_JOURNAL.hash, entries, 'token')
}

test('removes the oldest batches beyond its limit', () => {
  const recent = createRecentEntries(2)
  recent.add(batch(1n, 'a', 'b'))
  recent.add(batch(2n, 'c'))
  recent.add(batch(3n, 'd'))
  expect(recent.get('a')).toBeDefined()
  recent.trim()
  expect(recent.get('a')).toBeUndefined()
  expect(recent.get('b')).toBeUndefined()
  expect(recent.get('c')).toMatchObject({ seq: 2n, entry: { id: 'c' } })
  expect(recent.get('d')).toBeDefined()
})

test('keeps its limit however many batches are added', () => {
  const recent = createRecentEntries(10)
  for (let seq = 1n; seq <= 1_000n; seq += 1n) {
    recent.add(batch(seq, `${seq}`))
    recent.trim()
  }
  const kept = Array.from({ length: 1_000 }, (_, index) => recent.get(`${index + 1}`)).filter(
    (entry) => entry !== undefined,
  )
  expect(kept.map(({ seq }) => seq)).toEqual([991n, 992n, 993n, 994n, 995n, 996n, 997n, 998n, 999n, 1000n])
})
