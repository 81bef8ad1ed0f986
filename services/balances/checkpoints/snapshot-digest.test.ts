import { expect, test } from '@jest/globals'
import type { SnapshotHead, SnapshotPart } from '../store/snapshot-parts.ts'
import { digestOfPart, digestOfSnapshot } from './snapshot-digest.ts'

const PART: SnapshotPart = {
  shard: 3,
  format: 1,
  seq: 7n,
  part: 0,
  accounts: [],
  holds: [],
  early_releases: ['early'],
  withdrawal_totals: [],
}
const HEAD: Omit<SnapshotHead, 'digest'> = {
  shard: 3,
  format: 1,
  seq: 7n,
  time: new Date(7_000),
  hash: 'hash 7',
  parts: 1,
}

test.each<Partial<SnapshotPart>>([{ shard: 4 }, { format: 2 }, { seq: 8n }, { part: 1 }])(
  'the digest of a part covers its place: %p',
  (change) => {
    expect(digestOfPart({ ...PART, ...change })).not.toBe(digestOfPart(PART))
  },
)

test.each<Partial<SnapshotHead>>([
  { shard: 4 },
  { format: 2 },
  { seq: 8n },
  { time: new Date(7_001) },
  { hash: 'hash 8' },
  { parts: 2 },
])('the digest of a snapshot covers its head: %p', (change) => {
  expect(digestOfSnapshot({ ...HEAD, ...change }, ['part'])).not.toBe(digestOfSnapshot(HEAD, ['part']))
})

test('the digest of a snapshot covers its parts in their order', () => {
  const digest = digestOfSnapshot(HEAD, ['a', 'b'])
  for (const digests of [['b', 'a'], ['a'], ['a', 'c']])
    expect(digestOfSnapshot(HEAD, digests)).not.toBe(digest)
})
