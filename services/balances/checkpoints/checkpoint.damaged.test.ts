import { expect, test } from '@jest/globals'
import { trustedClock } from '../../../test/support/clock-guard.ts'
import { shardOf } from '../domain/shard.ts'
import { credit, hold, openFixture, withJournal } from '../ledger.fixture.ts'
import { createLedger } from '../ledger.ts'
import type { SnapshotHead, SnapshotPart } from '../store/checkpoints.ts'
import type { LedgerStore } from '../store/ledger-store.ts'
import { verifyLedger } from '../verification/verification.fixture.ts'

const SHARD = shardOf('1000', 'test')

type Damage = (store: LedgerStore) => Partial<LedgerStore['checkpoints']>

/** Replaces what is read of the head or of a part of the checkpoint. */
const alterHead =
  (change: Partial<SnapshotHead>): Damage =>
  ({ checkpoints }) => ({
    async getHead(shard) {
      const head = await checkpoints.getHead(shard)
      return head && { ...head, ...change }
    },
  })
const alterPart =
  (change: (part: SnapshotPart) => Partial<SnapshotPart> | undefined): Damage =>
  ({ checkpoints }) => ({
    async getPart(shard, key) {
      const part = await checkpoints.getPart(shard, key)
      const changed = part && change(part)
      return part && changed && { ...part, ...changed }
    },
  })

const ONE_HOLD = { id: 'x', merchant_id: '1000', currency: 'INR', amount: 1n }

// B1: the checkpoint only saves time. The journal decides.
test.each<[string, Damage]>([
  [
    'an altered balance',
    alterPart(({ accounts }) => ({ accounts: accounts.map((one) => ({ ...one, available: 999_999n })) })),
  ],
  ['a missing account', alterPart(() => ({ accounts: [] }))],
  ['a surplus hold', alterPart(({ holds }) => ({ holds: [...holds, ONE_HOLD] }))],
  ['an altered hold', alterPart(({ holds }) => ({ holds: holds.map((one) => ({ ...one, amount: 11n })) }))],
  ['a missing part', alterPart(() => undefined)],
  ['fewer parts', alterHead({ parts: [] })],
  ['another hash of the journal', alterHead({ hash: 'another' })],
  ['a position after the end of the journal', alterHead({ seq: 9n })],
  ['a list of parts of another type', alterHead({ parts: 1n as never })],
  ['a part of another type', alterHead({ parts: [{ seq: 1, id: 'a', digest: '' } as never] })],
  ['a time of another type', alterHead({ time: 'now' as never })],
  ['a position of another type', alterHead({ seq: 2 as never })],
  ['a missing list', alterPart(() => ({ holds: undefined as never }))],
  [
    'a balance of another type, which the digest does not show',
    alterPart(({ accounts }) => ({
      accounts: accounts.map((one) => ({ ...one, available: Number(one.available) as never })),
    })),
  ],
])('a checkpoint with %s is ignored, and the journal replayed', async (_, damage) => {
  await using fixture = await openFixture()
  const { ledger, store } = fixture
  await ledger.submit('test', credit('a', 100n))
  await ledger.submit('test', hold('h', 10n))
  await ledger.stop()
  const checkpoints = { ...store.checkpoints, ...damage(store) }
  const next = createLedger({ ...store, checkpoints }, trustedClock)
  expect(await next.accounts('test', '1000')).toMatchObject([{ available: 90n, held: 10n }])
  expect(await next.submit('test', hold('much', 999_999n))).toMatchObject({
    recorded: { seq: 3n, entry: { refused_code: 6004 } },
  })
  await next.stop()
  expect(await verifyLedger(store)).toEqual({ entries: 3n, problems: [] })
  expect(await store.checkpoints.getHead(SHARD)).toMatchObject({ seq: 3n })
})

test('a malformed checkpoint is reported and replaced by a verification', async () => {
  await using fixture = await openFixture()
  const { ledger, store } = fixture
  await ledger.submit('test', credit('a', 100n))
  await ledger.stop()
  const head = await store.checkpoints.getHead(SHARD)
  if (head === undefined) throw new Error('there is no checkpoint')
  await store.checkpoints.advanceHead(
    { ...head, seq: 1 as never, time: 'now' as never },
    { damaged_version: head.version },
  )
  expect(await verifyLedger(store)).toMatchObject({
    problems: [expect.stringMatching('has a malformed head')],
  })
  expect(await verifyLedger(store)).toEqual({ entries: 1n, problems: [] })
})

test('a corrupt journal does not stop the repair of the checkpoints of other shards', async () => {
  await using fixture = await openFixture()
  const { ledger, store } = fixture
  const environments = ['test', 'production'] as const
  for (const environment of environments) await ledger.submit(environment, credit(environment, 100n))
  await ledger.stop()
  const [corrupt = 0, sound = 0] = environments.map((environment) => shardOf('1000', environment))
  const listBatches: LedgerStore['journal']['listBatches'] = async (shard, ...range) =>
    shard === corrupt ? [] : await store.journal.listBatches(shard, ...range)
  await store.checkpoints.deletePartsBefore(sound, 9n)
  const { problems } = await verifyLedger(withJournal(store, { listBatches }))
  expect(problems).toEqual([
    expect.stringMatching(`shard ${corrupt}: batch 1 is missing`),
    expect.stringMatching(`shard ${sound}, batch 1: the checkpoint at batch 1 lacks a part`),
  ])
  expect(await verifyLedger(store)).toEqual({ entries: 2n, problems: [] })
})
