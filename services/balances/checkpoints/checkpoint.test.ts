import { describe, expect, test } from '@jest/globals'
import { emptyAccounts } from '../domain/merchant-accounts.ts'
import { emptyWithdrawalTotals, type WithdrawalTotals } from '../domain/payout-limits.ts'
import type { Hold } from '../domain/rows.ts'
import { createShardState, type ShardSnapshot, type ShardState } from '../domain/shard-state.ts'
import { openFixture } from '../ledger.fixture.ts'
import type { Checkpoints, SnapshotHead, SnapshotPart } from '../store/checkpoints.ts'
import type { LedgerStore } from '../store/ledger-store.ts'
import { isSameSnapshot } from '../verification/checks.ts'
import { readCheckpoint, saveChanges, saveCheckpoint } from './checkpoint.ts'

const SHARD = 3
const NO_ROWS = { accounts: [], holds: [], early_releases: [], withdrawal_totals: [] }

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
  const getHash = async (_: number, seq: bigint): Promise<string> => `hash ${seq}`
  const checkpoint = await readCheckpoint({ checkpoints, journal: { ...journal, getHash } }, SHARD)
  if (checkpoint?.status !== 'sound') throw new Error(`no sound checkpoint: ${checkpoint?.problem}`)
  return createShardState(checkpoint.snapshot).snapshot()
}

const stateAt = (seq: bigint, holds: number): ShardState => createShardState(snapshotAt(seq, holds))

test('reads a checkpoint of many holds as it was saved', async () => {
  await using fixture = await openFixture()
  const snapshot = snapshotAt(7n, 4_500)
  await saveCheckpoint(fixture.store.checkpoints, createShardState(snapshot))
  expect(isSameSnapshot(await readSnapshot(fixture.store), snapshot)).toBe(true)
})

/** Checkpoints that keep a list of the parts that were written. */
function listingParts(checkpoints: Checkpoints): { checkpoints: Checkpoints; written: SnapshotPart[] } {
  const written: SnapshotPart[] = []
  const putPart: Checkpoints['putPart'] = async (part) => {
    written.push(part)
    await checkpoints.putPart(part)
  }
  return { checkpoints: { ...checkpoints, putPart }, written }
}

/** Which of the parts are still stored. */
async function storedOf(checkpoints: Checkpoints, parts: readonly SnapshotPart[]): Promise<string[]> {
  const found = await Promise.all(parts.map((part) => checkpoints.getPart(SHARD, part)))
  return found.flatMap((part) => part?.id ?? []).sort()
}

const idsOf = (head: SnapshotHead | undefined): string[] => (head?.parts ?? []).map(({ id }) => id).sort()

test('replaces a checkpoint only by a later one, and deletes the parts of the old one', async () => {
  await using fixture = await openFixture()
  const { checkpoints, written } = listingParts(fixture.store.checkpoints)
  await Promise.all([5n, 9n, 7n, 2n].map((seq) => saveCheckpoint(checkpoints, stateAt(seq, 10))))
  await saveCheckpoint(checkpoints, stateAt(8n, 10))
  expect((await readSnapshot(fixture.store)).head.seq).toBe(9n)
  await saveCheckpoint(checkpoints, stateAt(10n, 1))
  expect((await readSnapshot(fixture.store)).holds).toHaveLength(1)
  expect(await storedOf(checkpoints, written)).toEqual(idsOf(await checkpoints.getHead(SHARD)))
})

/** Moves a state to the next batch, which changes some holds. */
function advance(state: ShardState, changed: readonly [string, Hold | undefined][]): void {
  const nothing = new Map()
  const batch = { shard: SHARD, format: 1, token: '', previous_hash: '', entries: [] }
  const seq = state.head().seq + 1n
  state.append(
    { ...batch, seq, time: new Date(Number(seq) * 1_000), hash: `hash ${seq}` },
    {
      accounts: nothing,
      holds: new Map(changed),
      early_releases: nothing,
      withdrawal_totals: nothing,
    },
  )
}

const holdOf = (id: string): [string, Hold] => [id, { id, merchant_id: '1', currency: 'INR', amount: 1n }]

describe('a checkpoint after another one', () => {
  test('writes the pages that changed, and has all rows', async () => {
    await using fixture = await openFixture()
    const { checkpoints, written } = listingParts(fixture.store.checkpoints)
    const state = stateAt(7n, 20_000)
    let head = await saveCheckpoint(checkpoints, state)
    const rowsOf = (part: SnapshotPart): number =>
      part.accounts.length + part.holds.length + part.early_releases.length + part.withdrawal_totals.length
    for (const [looks_for_remains, changed] of [
      [false, [holdOf('new 1')]],
      [true, [holdOf('new 2'), ['h5000', undefined]]],
      [false, [['new 1', undefined]]],
      [false, []],
    ] as [boolean, [string, Hold | undefined][]][]) {
      written.length = 0
      advance(state, changed)
      state.mergePages()
      head = head && (await saveChanges(checkpoints, state, head, looks_for_remains))
      expect(written.reduce((sum, part) => sum + rowsOf(part), 0)).toBeLessThanOrEqual(2_000)
      expect(isSameSnapshot(await readSnapshot(fixture.store), state.snapshot())).toBe(true)
    }
    expect(written).toEqual([])
  })

  test('deletes the parts that it does not need, and what a crashed save left', async () => {
    await using fixture = await openFixture()
    const { checkpoints, written } = listingParts(fixture.store.checkpoints)
    const state = stateAt(7n, 3_500)
    const first = await saveCheckpoint(checkpoints, state)
    const lost: SnapshotPart = { shard: SHARD, format: 1, seq: 8n, id: 'lost', ...NO_ROWS }
    await checkpoints.putPart(lost)
    advance(state, [holdOf('new')])
    const second = first && (await saveChanges(checkpoints, state, first, false))
    expect(await storedOf(checkpoints, written)).toEqual([...idsOf(second), 'lost'].sort())
    advance(state, [['h3', undefined]])
    const third = second && (await saveChanges(checkpoints, state, second, true))
    expect(await storedOf(checkpoints, written)).toEqual(idsOf(third))
    expect(isSameSnapshot(await readSnapshot(fixture.store), state.snapshot())).toBe(true)
  })

  test('is not stored when another process has replaced the one before, whose parts may be gone', async () => {
    await using fixture = await openFixture()
    const { checkpoints } = fixture.store
    const state = stateAt(7n, 3_500)
    const base = await saveCheckpoint(checkpoints, state)
    if (base === undefined) throw new Error('the checkpoint was not stored')
    await saveCheckpoint(checkpoints, stateAt(8n, 10))
    advance(state, [holdOf('new')])
    advance(state, [])
    expect(await saveChanges(checkpoints, state, base, true)).toBeUndefined()
    expect(isSameSnapshot(await readSnapshot(fixture.store), snapshotAt(8n, 10))).toBe(true)
    expect(await saveCheckpoint(checkpoints, state)).toMatchObject({ seq: 9n })
    expect(isSameSnapshot(await readSnapshot(fixture.store), state.snapshot())).toBe(true)
  })

  test('keeps its older parts when another process saves a checkpoint of a batch between', async () => {
    await using fixture = await openFixture()
    const { checkpoints } = fixture.store
    const state = stateAt(7n, 3_500)
    const base = await saveCheckpoint(checkpoints, state)
    advance(state, [])
    advance(state, [['h0', undefined]])
    expect(base && (await saveChanges(checkpoints, state, base, false))).toMatchObject({ seq: 9n })
    expect(await saveCheckpoint(checkpoints, stateAt(8n, 10))).toBeUndefined()
    expect(isSameSnapshot(await readSnapshot(fixture.store), state.snapshot())).toBe(true)
  })

  test('of a state that was loaded writes the pages that changed since', async () => {
    await using fixture = await openFixture()
    const { checkpoints, written } = listingParts(fixture.store.checkpoints)
    await saveCheckpoint(checkpoints, stateAt(7n, 3_500))
    const getHash = async (_: number, seq: bigint): Promise<string> => `hash ${seq}`
    const { journal } = fixture.store
    const loaded = await readCheckpoint({ checkpoints, journal: { ...journal, getHash } }, SHARD)
    if (loaded?.status !== 'sound') throw new Error('there is no sound checkpoint')
    const state = createShardState(loaded.snapshot)
    written.length = 0
    advance(state, [['h0', undefined]])
    await saveChanges(checkpoints, state, loaded.stored_head, true)
    expect(written.map(({ holds }) => holds.length)).toEqual([999])
    expect(isSameSnapshot(await readSnapshot(fixture.store), state.snapshot())).toBe(true)
  })

  test('does not take a page as stored that was changed while it was written', async () => {
    await using fixture = await openFixture()
    const { checkpoints } = fixture.store
    const state = stateAt(7n, 10)
    const putPart: Checkpoints['putPart'] = async (part) => {
      if (part.holds.length === 10) advance(state, [holdOf('meanwhile')])
      await checkpoints.putPart(part)
    }
    const first = await saveCheckpoint({ ...checkpoints, putPart }, state)
    expect((await readSnapshot(fixture.store)).holds).toHaveLength(10)
    expect(await (first && saveChanges(checkpoints, state, first, false))).toMatchObject({ seq: 8n })
    expect((await readSnapshot(fixture.store)).holds).toHaveLength(11)
  })
})

test('a state that was loaded before the last repair does not replace the repaired checkpoint, however late it is', async () => {
  await using fixture = await openFixture()
  const { checkpoints } = fixture.store
  const wrong = await saveCheckpoint(checkpoints, stateAt(5n, 10))
  expect(await saveCheckpoint(checkpoints, stateAt(5n, 10), wrong?.version, 'repair')).toMatchObject({
    seq: 5n,
  })
  expect(await saveCheckpoint(checkpoints, stateAt(9n, 10))).toBeUndefined()
  expect(await saveCheckpoint(checkpoints, stateAt(9n, 10), undefined, 'earlier')).toBeUndefined()
  const later = await saveCheckpoint(checkpoints, stateAt(7n, 10), undefined, 'repair')
  expect(later).toMatchObject({ seq: 7n, repair_id: 'repair' })
  expect(await (later && saveChanges(checkpoints, stateAt(8n, 10), later, false))).toMatchObject({
    seq: 8n,
    repair_id: 'repair',
  })
  expect([...(await checkpoints.listRepairs()).values()]).toEqual(['repair'])
})

test('replaces a damaged checkpoint also by an earlier one, but not the one that replaced it meanwhile', async () => {
  await using fixture = await openFixture()
  const { checkpoints } = fixture.store
  await saveCheckpoint(checkpoints, stateAt(9n, 10))
  const damaged = await checkpoints.getHead(SHARD)
  await saveCheckpoint(checkpoints, stateAt(5n, 10), damaged?.version)
  expect((await readSnapshot(fixture.store)).head.seq).toBe(5n)
  await saveCheckpoint(checkpoints, stateAt(4n, 10), damaged?.version)
  expect((await readSnapshot(fixture.store)).head.seq).toBe(5n)
})

test('reads the later checkpoint when the one that it began with is replaced meanwhile', async () => {
  await using fixture = await openFixture()
  const { store } = fixture
  await saveCheckpoint(store.checkpoints, stateAt(5n, 10))
  const getPart: typeof store.checkpoints.getPart = async (shard, key) => {
    if (key.seq === 5n) await saveCheckpoint(store.checkpoints, stateAt(6n, 20))
    return await store.checkpoints.getPart(shard, key)
  }
  const snapshot = await readSnapshot({ ...store, checkpoints: { ...store.checkpoints, getPart } })
  expect(isSameSnapshot(snapshot, snapshotAt(6n, 20))).toBe(true)
})

test.each([
  ['lost its batch', undefined],
  ['has another batch in its place', 'another'],
])('a checkpoint is damaged when the journal %s', async (_what, hash) => {
  await using fixture = await openFixture()
  const { checkpoints, journal } = fixture.store
  await saveCheckpoint(checkpoints, stateAt(7n, 3))
  const getHash = async (): Promise<string | undefined> => hash
  expect(await readCheckpoint({ checkpoints, journal: { ...journal, getHash } }, SHARD)).toMatchObject({
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
  await expect(readAltered(alter)).rejects.toThrow('does not match its digest')
})

test.each<[string, Alteration]>([
  ...['available', 'held', 'clearing', 'fees', 'chargebacks', 'adjustments'].map((field) =>
    ofAccounts(field, 0),
  ),
  ofHolds('amount', 1),
  ...['day_total', 'month_total', 'period_total'].map((field) => ofTotals(field, 0)),
])('finds that %s is of another type, which the digest may not show', async (_what, alter) => {
  await expect(readAltered(alter)).rejects.toThrow('has a malformed part')
})

/** Reads a checkpoint whose parts were altered after they had been saved. */
async function readAltered(alter: Alteration): Promise<ShardSnapshot> {
  await using fixture = await openFixture()
  const { checkpoints } = fixture.store
  await saveCheckpoint(checkpoints, stateAt(7n, 3))
  const getPart: typeof checkpoints.getPart = async (...key) => {
    const part = await checkpoints.getPart(...key)
    return part && { ...part, ...alter(part) }
  }
  return await readSnapshot({ ...fixture.store, checkpoints: { ...checkpoints, getPart } })
}
