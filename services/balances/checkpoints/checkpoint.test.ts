import { expect, test } from '@jest/globals'
import type { Batch } from '../domain/entry.ts'
import { emptyAccounts } from '../domain/merchant-accounts.ts'
import { emptyWithdrawalTotals, type WithdrawalTotals } from '../domain/payout-limits.ts'
import type { ShardSnapshot } from '../domain/shard-state.ts'
import { openFixture } from '../ledger.fixture.ts'
import type { LedgerStore } from '../store/ledger-store.ts'
import type { SnapshotPart } from '../store/snapshot-parts.ts'
import { readCheckpoint, saveCheckpoint } from './checkpoint.ts'
import { isSameSnapshot } from './compare-snapshots.ts'

const SHARD = 3

const totals: WithdrawalTotals = {
  ...emptyWithdrawalTotals('1', 'INR', 5),
  day: '2026-11-22',
  period: 2,
  day_total: 3n,
}

function snapshotAt(seq: bigint, holds: number): ShardSnapshot {
  return {
    shard: SHARD,
    head: { seq, time_ms: Number(seq) * 1_000, hash: `hash ${seq}` },
    accounts: [{ ...emptyAccounts('1', 'INR'), held: BigInt(holds), clearing: -BigInt(holds) }],
    holds: Array.from({ length: holds }, (_, index) => ({
      id: `h${index}`,
      merchant_id: '1',
      currency: 'INR',
      amount: 1n,
      counted: { service_id: 5, day: '2026-11-22', period: 2 },
    })),
    early_releases: ['early'],
    withdrawal_totals: [totals],
  }
}

/** Reads the checkpoint of a shard whose journal has a batch at every position. */
async function readSnapshot({ checkpoints, journal }: LedgerStore): Promise<ShardSnapshot> {
  const getBatch = async (_: number, seq: bigint): Promise<Batch> => ({ hash: `hash ${seq}` }) as Batch
  const checkpoint = await readCheckpoint({ checkpoints, journal: { ...journal, getBatch } }, SHARD)
  if (checkpoint?.status !== 'sound') throw new Error(`no sound checkpoint: ${checkpoint?.problem}`)
  return checkpoint.snapshot
}

test('reads a checkpoint of many holds as it was saved', async () => {
  await using fixture = await openFixture()
  const snapshot = snapshotAt(7n, 4_500)
  await saveCheckpoint(fixture.store.checkpoints, snapshot)
  expect(isSameSnapshot(await readSnapshot(fixture.store), snapshot)).toBe(true)
})

test('replaces a checkpoint only by a later one, and deletes the parts of the old one', async () => {
  await using fixture = await openFixture()
  const { checkpoints } = fixture.store
  await Promise.all([5n, 9n, 7n, 2n].map((seq) => saveCheckpoint(checkpoints, snapshotAt(seq, 10))))
  await saveCheckpoint(checkpoints, snapshotAt(8n, 10))
  expect((await readSnapshot(fixture.store)).head.seq).toBe(9n)
  await saveCheckpoint(checkpoints, snapshotAt(10n, 1))
  expect((await readSnapshot(fixture.store)).holds).toHaveLength(1)
  for (const seq of [2n, 5n, 7n, 8n, 9n]) expect(await checkpoints.getPart(SHARD, seq, 0)).toBeUndefined()
})

test('replaces a damaged checkpoint also by an earlier one, but not the one that replaced it meanwhile', async () => {
  await using fixture = await openFixture()
  const { checkpoints } = fixture.store
  await saveCheckpoint(checkpoints, snapshotAt(9n, 10))
  const damaged = await checkpoints.getHead(SHARD)
  await saveCheckpoint(checkpoints, snapshotAt(5n, 10), damaged?.version)
  expect((await readSnapshot(fixture.store)).head.seq).toBe(5n)
  await saveCheckpoint(checkpoints, snapshotAt(4n, 10), damaged?.version)
  expect((await readSnapshot(fixture.store)).head.seq).toBe(5n)
})

test('overwrites a part that a crashed save left', async () => {
  await using fixture = await openFixture()
  const { checkpoints } = fixture.store
  const { accounts, early_releases } = snapshotAt(7n, 10)
  const rest: SnapshotPart = {
    shard: SHARD,
    format: 1,
    seq: 7n,
    part: 0,
    accounts,
    holds: [],
    early_releases,
    withdrawal_totals: [],
  }
  await checkpoints.putPart(rest)
  await saveCheckpoint(checkpoints, snapshotAt(7n, 10))
  expect((await readSnapshot(fixture.store)).holds).toHaveLength(10)
})

test('reads the later checkpoint when the one that it began with is replaced meanwhile', async () => {
  await using fixture = await openFixture()
  const { store } = fixture
  await saveCheckpoint(store.checkpoints, snapshotAt(5n, 10))
  const getPart: typeof store.checkpoints.getPart = async (shard, seq, part) => {
    if (seq === 5n) await saveCheckpoint(store.checkpoints, snapshotAt(6n, 20))
    return await store.checkpoints.getPart(shard, seq, part)
  }
  const snapshot = await readSnapshot({ ...store, checkpoints: { ...store.checkpoints, getPart } })
  expect(isSameSnapshot(snapshot, snapshotAt(6n, 20))).toBe(true)
})

test.each([
  ['lost its batch', undefined],
  ['has another batch in its place', { hash: 'another' } as Batch],
])('a checkpoint is damaged when the journal %s', async (_what, batch) => {
  await using fixture = await openFixture()
  const { checkpoints, journal } = fixture.store
  await saveCheckpoint(checkpoints, snapshotAt(7n, 3))
  const getBatch = async (): Promise<Batch | undefined> => batch
  expect(await readCheckpoint({ checkpoints, journal: { ...journal, getBatch } }, SHARD)).toMatchObject({
    status: 'damaged',
    problem: 'is of a batch that is not in the journal',
  })
})

type Alteration = (part: SnapshotPart) => Partial<SnapshotPart>

/** Alters one field of every account, or of every hold. */
const withField = <Row extends object>(rows: readonly Row[], field: string, value: unknown): Row[] =>
  rows.map((row) => ({ ...row, [field]: value }))
const ofAccounts = (field: string, value: unknown): [string, Alteration] => [
  `the ${field} of an account`,
  ({ accounts }) => ({ accounts: withField(accounts, field, value) }),
]
const ofHolds = (field: string, value: unknown): [string, Alteration] => [
  `the ${field} of a hold`,
  ({ holds }) => ({ holds: withField(holds, field, value) }),
]
const ofTotals = (field: string, value: unknown): [string, Alteration] => [
  `the ${field} of withdrawal totals`,
  ({ withdrawal_totals }) => ({ withdrawal_totals: withField(withdrawal_totals, field, value) }),
]

// B1: a field that the digest left out could be altered without notice.
test.each<[string, Alteration]>([
  ...['merchant_id', 'currency'].map((field) => ofAccounts(field, 'other')),
  ...['available', 'held', 'clearing', 'fees', 'chargebacks', 'adjustments'].map((field) =>
    ofAccounts(field, 77n),
  ),
  ...['id', 'merchant_id', 'currency', 'payment_id'].map((field) => ofHolds(field, 'other')),
  ofAccounts('period', 77),
  ofHolds('amount', 77n),
  ofHolds('counted', { service_id: 6, day: '2026-11-22', period: 2 }),
  ofHolds('counted', { service_id: 5, day: '2026-11-21', period: 2 }),
  ofHolds('counted', { service_id: 5, day: '2026-11-22', period: 1 }),
  ofHolds('counted', undefined),
  ['an early release', () => ({ early_releases: ['other'] })],
  ...['merchant_id', 'currency', 'day'].map((field) => ofTotals(field, 'other')),
  ...['service_id', 'period'].map((field) => ofTotals(field, 77)),
  ...['day_total', 'month_total', 'period_total'].map((field) => ofTotals(field, 77n)),
])('finds that %s was altered', async (_what, alter) => {
  await using fixture = await openFixture()
  const { checkpoints } = fixture.store
  await saveCheckpoint(checkpoints, snapshotAt(7n, 3))
  const getPart: typeof checkpoints.getPart = async (...key) => {
    const part = await checkpoints.getPart(...key)
    return part && { ...part, ...alter(part) }
  }
  const store = { ...fixture.store, checkpoints: { ...checkpoints, getPart } }
  await expect(readSnapshot(store)).rejects.toThrow('does not match its digest')
})
