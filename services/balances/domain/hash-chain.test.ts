import { describe, expect, test } from '@jest/globals'
import { credit } from '../ledger.fixture.ts'
import type { Batch, Entry } from './entry.ts'
import {
  assertFollows,
  assertUnaltered,
  CorruptJournal,
  EMPTY_JOURNAL,
  hasOtherFormat,
  sealBatch,
} from './hash-chain.ts'

const counted = { service_id: 7, day: '2026-11-22', period: 0 }
const entry: Entry = { ...credit('a', 5n), available: 5n, held: 0n, counted }
const first = sealBatch({ shard: 1, seq: 1n, time: new Date(1_000) }, EMPTY_JOURNAL.hash, [entry], 'token')
const head = { seq: 1n, time_ms: 1_000, hash: first.hash }

test('accepts a batch that follows the head it was sealed for', () => {
  const second = sealBatch(
    { shard: 1, seq: 2n, time: new Date(1_000) },
    first.hash,
    [{ ...entry, id: 'b' }],
    'token',
  )
  expect(() => assertFollows(EMPTY_JOURNAL, first)).not.toThrow()
  expect(() => assertFollows(head, second)).not.toThrow()
  for (const batch of [first, second]) expect(() => assertUnaltered(batch)).not.toThrow()
})

describe('detects a change of any field of a batch', () => {
  test.each<Partial<Entry>>([
    { id: 'b' },
    { kind: 'adjustment' },
    { merchant_id: '2000' },
    { currency: 'MXN' },
    { debit: 'fees' },
    { credit: 'fees' },
    { reason: 'another' },
    { available: 6n },
    { held: 1n },
  ])('the entry with %p', (change) => {
    const altered = { ...first, entries: [{ ...entry, ...change }] }
    expect(() => assertUnaltered(altered)).toThrow('does not match its hash')
  })

  test.each<[string, Batch]>([
    ['an amount', { ...first, entries: [{ ...entry, amount: 6n }] }],
    ['a payment', { ...first, entries: [{ ...entry, payment_id: 'p' }] }],
    ['a refusal', { ...first, entries: [{ ...entry, refused_code: 6004 }] }],
    ['a counted route', { ...first, entries: [{ ...entry, counted: { ...counted, service_id: 8 } }] }],
    ['a counted day', { ...first, entries: [{ ...entry, counted: { ...counted, day: '2026-11-21' } }] }],
    ['a counted period', { ...first, entries: [{ ...entry, counted: { ...counted, period: 1 } }] }],
    ['a settlement period', { ...first, entries: [{ ...entry, period: 1 }] }],
    ['an act', { ...first, entries: [{ ...entry, audit_id: 'act' }] }],
    ['an added entry', { ...first, entries: [entry, { ...entry, id: 'b' }] }],
    ['a removed entry', { ...first, entries: [] }],
    ['the time', { ...first, time: new Date(1_001) }],
    ['the token', { ...first, token: 'another' }],
    ['the shard', { ...first, shard: 2 }],
    ['the sequence number', { ...first, seq: 2n }],
    ['the previous hash', { ...first, previous_hash: 'another' }],
    ['an earlier format', { ...first, format: 1 }],
    ['an unknown format', { ...first, format: 3 }],
  ])('%s', (_, altered) => expect(() => assertUnaltered(altered)).toThrow(CorruptJournal))
})

test.each<[string, bigint, string, string]>([
  ['position', 3n, first.hash, 'was found where batch 2 must follow'],
  ['head', 2n, 'hash of another batch', 'does not continue the hash chain'],
])('refuses a batch that was sealed for another %s', (_, seq, previous_hash, problem) => {
  const batch = sealBatch({ shard: 1, seq, time: new Date(1_000) }, previous_hash, [entry], 'token')
  expect(() => assertFollows(head, batch)).toThrow(problem)
})

test('refuses a batch that is earlier than the one before it', () => {
  const early = sealBatch({ shard: 1, seq: 2n, time: new Date(999) }, first.hash, [], 'token')
  expect(() => assertFollows(head, early)).toThrow('has an earlier time than the batch before it')
})

test('tells a batch of which only the format number was altered from one of a newer format', () => {
  const newer = sealBatch({ shard: 1, seq: 1n, time: new Date(1_000) }, '', [entry], 'token', 3)
  expect(hasOtherFormat({ ...first, format: 3 }, 2)).toBe(true)
  expect(hasOtherFormat({ ...first, format: 4 }, 3)).toBe(true)
  expect(hasOtherFormat(newer, 2)).toBe(false)
})

test.each([
  [1, undefined, 'bf8873b714c680751af6199e38ce415010876741141c0d4ba786b96ce3288f1b'],
  [2, undefined, '386987e0feb6e6b0cd00ed63a271084137af7001a13da536655fde1b43821637'],
  [2, 'act', 'ce67d31ab75eaa817ae352d0809a4a3a94117bad1c60df1c94ecb95d741a7d4d'],
])(
  'the hash of a batch of format %d with the act %p never changes, because the journals have it',
  (format, audit_id, hash) => {
    const full = { ...entry, payment_id: 'p', refused_code: 6004, period: 3, audit_id } as const
    const { counted: _, ...plain } = entry
    const position = { shard: 1, seq: 1n, time: new Date(1_000) }
    expect(sealBatch(position, 'previous', [full, plain], 'token', format).hash).toBe(hash)
  },
)
