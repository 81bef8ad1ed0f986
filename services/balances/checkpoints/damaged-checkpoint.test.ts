import { expect, test } from '@jest/globals'
import { trustedClock } from '../../../test/support/clock-guard.ts'
import { shardOf } from '../domain/shard.ts'
import { credit, hold, openFixture } from '../ledger.fixture.ts'
import { createLedger } from '../ledger.ts'
import type { LedgerStore } from '../store/ledger-store.ts'
import type { SnapshotHead, SnapshotPart } from '../store/snapshot-parts.ts'
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
    async getPart(shard, seq, number) {
      const part = await checkpoints.getPart(shard, seq, number)
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
  ['another number of parts', alterHead({ parts: 0 })],
  ['another hash of the journal', alterHead({ hash: 'another' })],
  ['a position after the end of the journal', alterHead({ seq: 9n })],
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
