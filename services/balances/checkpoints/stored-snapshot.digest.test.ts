import { expect, test } from '@jest/globals'
import type { SnapshotHead, SnapshotPart } from '../store/checkpoints.ts'
import { digestOfPart, digestOfSnapshot } from './stored-snapshot.ts'

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
const HEAD: Omit<SnapshotHead, 'digest' | 'signature'> = {
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

test('the digests of format 1 remain as they are, because stored snapshots have them', () => {
  const merchant = { merchant_id: 'm', currency: 'INR', period: 1 }
  const count = { service_id: 4, day: '2026-11-22', period: 1 }
  const part = digestOfPart({
    ...PART,
    accounts: [
      { ...merchant, available: 1n, held: 2n, clearing: 3n, fees: 4n, chargebacks: 5n, adjustments: 6n },
    ],
    holds: [
      { id: 'a', merchant_id: 'm', currency: 'INR', amount: 7n, payment_id: 'p', counted: count },
      { id: 'b', merchant_id: 'm', currency: 'INR', amount: 8n },
    ],
    withdrawal_totals: [{ ...merchant, ...count, day_total: 9n, month_total: 10n, period_total: 11n }],
  })
  expect([part, digestOfSnapshot(HEAD)]).toEqual([
    'f36db409fcde3b276a5149f7e6d2fed5905bd01cb6738499faefe12ad99019c6',
    '4c4f47e6705f4f0e87aa5e1095b20a223d40c91aa806dfa84fd5e21593757142',
  ])
})
