import { expect, test } from '@jest/globals'
import type { SnapshotHead, SnapshotPart } from '../store/snapshot-parts.ts'
import { digestOfPart, digestOfSnapshot } from './snapshot-digest.ts'

const PART: SnapshotPart = {
  shard: 3,
  format: 1,
  seq: 7n,
  id: 'part',
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
  parts: [
    { seq: 6n, id: 'a', digest: 'one' },
    { seq: 7n, id: 'b', digest: 'two' },
  ],
}

test.each<Partial<SnapshotPart>>([{ shard: 4 }, { format: 2 }, { seq: 8n }, { id: 'other' }])(
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
])('the digest of a snapshot covers its head: %p', (change) => {
  expect(digestOfSnapshot({ ...HEAD, ...change })).not.toBe(digestOfSnapshot(HEAD))
})

test('the digest of a snapshot covers its parts in their order', () => {
  const [a, b] = HEAD.parts
  if (a === undefined || b === undefined) throw new Error('the head has two parts')
  const lists = [[b, a], [a], [a, { ...b, seq: 6n }], [a, { ...b, id: 'c' }], [a, { ...b, digest: 'three' }]]
  for (const parts of lists) expect(digestOfSnapshot({ ...HEAD, parts })).not.toBe(digestOfSnapshot(HEAD))
})
