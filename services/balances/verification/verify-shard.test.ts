import { describe, expect, test } from '@jest/globals'
import { trustedClock } from '../../../test/support/clock-guard.ts'
import { saveCheckpoint } from '../checkpoints/checkpoint.ts'
import type { Entry } from '../domain/entry.ts'
import { sealBatch } from '../domain/hash-chain.ts'
import { shardOf } from '../domain/shard.ts'
import { createShardState } from '../domain/shard-state.ts'
import {
  credit,
  hold,
  type LedgerFixture,
  openFixture,
  resolve,
  settle,
  soundCheckpoint,
} from '../ledger.fixture.ts'
import { createLedger } from '../ledger.ts'
import { CHECKPOINT_INTERVAL_BATCHES, CHECKPOINT_ROWS_PER_ENTRY_MAX } from '../limits.ts'
import type { Journal } from '../store/journal.ts'
import { checkAccounts } from './checks.ts'
import {
  journalOf,
  partOfAccounts,
  storeWrongCheckpoint,
  verifyLedger,
  withBatches,
  writeJournal,
} from './verification.fixture.ts'

const SHARD = shardOf('1000', 'test')

/** A ledger that decided some commands and was stopped, so that its checkpoint is complete. */
async function openUsedLedger(): Promise<LedgerFixture> {
  const fixture = await openFixture()
  const { ledger } = fixture
  for (const command of [
    credit('a', 100n),
    hold('h', 30n),
    hold('i', 20n),
    resolve('capture', 'h'),
    hold('much', 999n),
  ]) {
    await ledger.submit('test', command)
  }
  await ledger.stop()
  return fixture
}

// B4
test('a ledger is consistent after normal work', async () => {
  await using fixture = await openUsedLedger()
  expect(await verifyLedger(fixture.store)).toEqual({ entries: 5n, problems: [] })
  expect(await verifyLedger(fixture.store)).toEqual({ entries: 5n, problems: [] })
})

// B2, P14
test('a refused hold that is released when there are funds is not a problem', async () => {
  await using fixture = await openFixture()
  const { ledger, store } = fixture
  await ledger.submit('test', hold('h', 10n))
  await ledger.submit('test', credit('a', 10n))
  const released = await ledger.submit('test', resolve('release', 'h'))
  expect(released).toMatchObject({ recorded: { entry: { refused_code: 6004, available: 10n } } })
  expect(await verifyLedger(store)).toMatchObject({ problems: [] })
})

test('a settlement of a negative balance takes nothing, so it is not a problem', async () => {
  await using fixture = await openUsedLedger()
  const ledger = createLedger(fixture.store, trustedClock)
  await ledger.submit('test', { ...credit('c', 500n), debit: 'available', credit: 'chargebacks' })
  await ledger.submit('test', settle('op'))
  await ledger.stop()
  expect(await verifyLedger(fixture.store)).toEqual({ entries: 7n, problems: [] })
})

// P18
test('finds two credits of one payment, and no other entries that look alike', async () => {
  await using fixture = await openFixture()
  const { ledger, store } = fixture
  const of = (id: string, payment_id: string, merchant_id?: string) => ({
    ...credit(id, 100n, merchant_id),
    payment_id,
  })
  await ledger.submit('test', of('p:2:credit', 'p'))
  await ledger.submit('test', of('q:credit', 'q'))
  await ledger.submit('test', of('other:credit', 'p', '1001'))
  await ledger.submit('test', { ...of('b:debit', 'p'), debit: 'available', credit: 'chargebacks' })
  await ledger.submit('test', { ...of('b:return', 'p'), debit: 'chargebacks', credit: 'available' })
  expect(await verifyLedger(store)).toMatchObject({ problems: [] })
  await ledger.submit('test', of('p:3:credit', 'p'))
  await ledger.stop()
  expect((await verifyLedger(store)).problems).toEqual([
    expect.stringMatching(/entry p:3:credit credits the payment p, which has 2 credits$/),
  ])
})

describe('finds, and replaces when it began at the first batch,', () => {
  test.each<[string, (fixture: LedgerFixture) => Promise<void>, RegExp]>([
    [
      'a checkpoint with a wrong balance',
      ({ store }) => storeWrongCheckpoint(store, SHARD),
      /the checkpoint at batch 5 differs from the journal/,
    ],
    [
      'a checkpoint with an altered row',
      async ({ store: { checkpoints } }) => {
        const part = await partOfAccounts(checkpoints, await checkpoints.getHead(SHARD))
        const accounts = part.accounts.map((one) => ({ ...one, available: 999_999n }))
        await checkpoints.putPart({ ...part, accounts })
      },
      /the checkpoint at batch 5 does not match its digest/,
    ],
    [
      'a checkpoint without its parts',
      async ({ store }) => {
        await store.checkpoints.deletePartsBefore(SHARD, 6n)
      },
      /the checkpoint at batch 5 lacks a part/,
    ],
    [
      'a checkpoint ahead of the journal',
      async ({ store }) => {
        const { snapshot } = await soundCheckpoint(store, SHARD)
        const ahead = { ...snapshot, head: { ...snapshot.head, seq: 9n } }
        await saveCheckpoint(store.checkpoints, createShardState(ahead))
      },
      /the checkpoint at batch 9 is of a batch that is not in the journal/,
    ],
  ])('%s', async (_, corrupt, difference) => {
    await using fixture = await openUsedLedger()
    const { store } = fixture
    await corrupt(fixture)
    const damaged = { problems: [expect.stringMatching(difference)] }
    for (const from_first_batch of [false, false, true])
      expect(await verifyLedger(store, from_first_batch)).toMatchObject(damaged)
    expect(await verifyLedger(store, false)).toEqual({ entries: 5n, problems: [] })
    const { snapshot } = await soundCheckpoint(store, SHARD)
    expect(createShardState(snapshot).accountsOf('1000')).toMatchObject([{ available: 50n }])
  })
})

// B4
describe('finds accounts', () => {
  test.each([
    ['whose debits and credits differ', 'available', /^debits and credits differ in INR of merchant 1000$/],
    [
      'whose held funds are not those of the holds',
      'held',
      /^the held funds are not the sum of the open holds/,
    ],
  ] as const)('%s', async (_, part, difference) => {
    await using fixture = await openUsedLedger()
    const { snapshot } = await soundCheckpoint(fixture.store, SHARD)
    const rows = createShardState(snapshot).snapshot()
    const problemsOf = (changed: typeof rows.accounts): string[] => {
      const problems: string[] = []
      checkAccounts({ ...rows, accounts: changed }, (_seq, description) => problems.push(description))
      return problems
    }
    expect(problemsOf(rows.accounts)).toEqual([])
    const [found] = problemsOf(
      rows.accounts.map((one) => {
        const moved = { ...one, [part]: one[part] + 1n }
        // The sum stays right, so that only the holds can show what was moved.
        return part === 'held' ? { ...moved, available: one.available - 1n } : moved
      }),
    )
    expect(found).toMatch(difference)
  })
})

describe('finds a journal with', () => {
  const entry = (id: string, available: bigint): Entry => ({ ...credit(id, 10n), available, held: 20n })

  test.each<[string, (hash: string) => ReturnType<typeof sealBatch>, RegExp]>([
    [
      'an altered amount',
      (hash) => ({ ...sealed(6n, hash, entry('z', 60n)), entries: [{ ...entry('z', 60n), amount: 11n }] }),
      /shard 64: batch 6 does not match its hash/,
    ],
    [
      'a time that is not a time',
      (hash) => ({ ...sealed(6n, hash, entry('z', 60n)), time: 'now' as never }),
      /batch 6 does not have the form of a batch/,
    ],
    [
      'an amount of another type, which the hash does not show',
      (hash) => ({
        ...sealed(6n, hash, entry('z', 60n)),
        entries: [{ ...entry('z', 60n), amount: 10 as never }],
      }),
      /batch 6 does not have the form of a batch/,
    ],
    [
      'a batch that does not continue the chain',
      () => sealed(6n, 'another', entry('z', 60n)),
      /does not continue the hash chain/,
    ],
    ['a gap', (hash) => sealed(8n, hash, entry('z', 60n)), /batch 8 was found where batch 6 must follow/],
    [
      'a balance that does not follow',
      (hash) => sealed(6n, hash, entry('z', 61n)),
      /shard 64: entry z states a balance that does not follow/,
    ],
    [
      'two entries with one id in a batch, which a unique index may not refuse',
      (hash) => sealed(6n, hash, entry('z', 60n), entry('z', 70n)),
      /the batch has two entries with the same id/,
    ],
    [
      'a resolution of an unknown hold',
      (hash) => sealed(6n, hash, { ...entry('q:resolve', 60n), kind: 'release', debit: 'held', held: 10n }),
      /resolves a hold that is not open/,
    ],
    [
      'an overdraft',
      (hash) => sealed(6n, hash, { ...entry('z', -1n), debit: 'available', credit: 'fees', amount: 51n }),
      /took more than was available/,
    ],
    [
      'a refusal for funds that were there',
      (hash) =>
        sealed(6n, hash, {
          ...entry('z', 50n),
          kind: 'hold',
          debit: 'available',
          credit: 'held',
          amount: 50n,
          refused_code: 6004,
        }),
      /entry z was refused although the funds were sufficient/,
    ],
  ])('%s', async (_, batch, difference) => {
    await using fixture = await openUsedLedger()
    const { store } = fixture
    const last = await store.journal.getBatch(SHARD, 5n)
    await store.journal.append(batch(last?.hash ?? ''))
    expect(await verifyLedger(store)).toMatchObject({
      problems: expect.arrayContaining([expect.stringMatching(difference)]),
    })
  })

  test('a second entry with the same id, which the unique index would refuse', async () => {
    await using fixture = await openUsedLedger()
    const { journal } = fixture.store
    const last = await journal.getBatch(SHARD, 5n)
    const second = sealed(6n, last?.hash ?? '', entry('a', 60n))
    const altered: Journal = {
      ...journal,
      lastSequence: async (shard) => (shard === SHARD ? 6n : await journal.lastSequence(shard)),
      listBatches: async (...range) => [...(await journal.listBatches(...range)), second],
      findByEntryId: async (...query) => [...(await journal.findByEntryId(...query)), second],
    }
    const { problems } = await verifyLedger({ ...fixture.store, journal: altered })
    expect(problems).toContainEqual(expect.stringMatching(/entry a is in several batches/))
  })

  test('a broken chain, and decides nothing on top of it', async () => {
    await using fixture = await openUsedLedger()
    const { store } = fixture
    await store.journal.append(sealed(6n, 'another', entry('z', 60n)))
    const ledger = createLedger(store, trustedClock)
    await expect(ledger.submit('test', credit('b', 1n))).rejects.toThrow('does not continue the hash chain')
    await expect(ledger.accounts('test', '1000')).rejects.toThrow('does not continue the hash chain')
    await ledger.stop()
    expect(await store.journal.lastSequence(SHARD)).toBe(6n)
  })

  function sealed(seq: bigint, hash: string, ...entries: Entry[]): ReturnType<typeof sealBatch> {
    return sealBatch({ shard: SHARD, seq, time: new Date(Date.UTC(2100, 0)) }, hash, entries, 'token')
  }
})

test('after a complete verification no resume point of an earlier one is left', async () => {
  await using fixture = await openFixture()
  const { ledger, store } = fixture
  // A row per currency: one more than are written for one entry.
  const currencies = ['ARS', 'AUD', 'INR', 'MXN', 'TRY'].slice(0, CHECKPOINT_ROWS_PER_ENTRY_MAX + 1)
  const book = async (from: bigint, to: bigint): Promise<void> => {
    for (let seq = from; seq <= to; seq += 1n)
      await ledger.submit('test', credit(`${seq}`, 1n, '1000', currencies[Number(seq % 5n)]))
  }
  const end_seq = CHECKPOINT_INTERVAL_BATCHES + 1n
  await book(1n, end_seq - 2n)
  await verifyLedger(store)
  await book(end_seq - 1n, end_seq)
  await verifyLedger(store, false)
  const pointOf = async () => {
    const { resume_point, later_point } = (await store.verifications.getShard(SHARD)) ?? {}
    return { resume_seq: resume_point?.snapshot.seq, later_point }
  }
  expect(await pointOf()).toEqual({ resume_seq: end_seq, later_point: undefined })
  // It saves a point one entry before the end, and that entry is too little for another one.
  expect(await verifyLedger(store)).toEqual({ entries: end_seq, problems: [] })
  expect(await pointOf()).toEqual({ resume_seq: end_seq, later_point: undefined })
})

// B4.5: such as a member of the database that lags.
test('an end of the journal that is read too early hides no later loss', async () => {
  await using fixture = await openFixture()
  const { store } = fixture
  await writeJournal(store, 30)
  await verifyLedger(store)
  // It is right again by the time that the verification has begun.
  const lastSequence = async (shard: number): Promise<bigint> => {
    const { status } = (await store.verifications.getShard(SHARD)) ?? {}
    return shard === SHARD && status !== 'running' ? 20n : await store.journal.lastSequence(shard)
  }
  const lagging = { ...store, journal: { ...store.journal, lastSequence } }
  expect(await verifyLedger(lagging)).toEqual({ entries: 20n, problems: [] })
  expect((await verifyLedger(withBatches(store, journalOf(25), 25n))).problems).toEqual([
    expect.stringContaining('batch 30 was verified earlier and is missing'),
  ])
})
