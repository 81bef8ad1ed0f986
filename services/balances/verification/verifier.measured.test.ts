import { expect, test } from '@jest/globals'
import { metricsText } from '#lib/telemetry/metrics.ts'
import { trustedClock } from '../../../test/support/clock-guard.ts'
import { eventually } from '../../../test/support/eventually.ts'
import { shardOf } from '../domain/shard.ts'
import { openFixture } from '../ledger.fixture.ts'
import type { LedgerStore } from '../store/ledger-store.ts'
import { getVerification, startVerification } from '../use-cases/verification.ts'
import { journalOf, verifyLedger, withBatches, withReads, writeJournal } from './verification.fixture.ts'
import { createVerifier, measureProblems } from './verifier.ts'

const SHARD = shardOf('1000', 'test')

/** The value of the metric after it was measured. */
async function knownProblems(store: LedgerStore): Promise<string | undefined> {
  await measureProblems(store)
  return /^multihub_ledger_problems (\d+)$/m.exec(await metricsText())?.[1]
}

test('a ledger that cannot be read shows no number of problems', async () => {
  await using fixture = await openFixture()
  const { verifications } = fixture.store
  expect(await knownProblems(fixture.store)).toBe('0')
  const countOpenProblems = (): Promise<number> => Promise.reject(new Error('the store does not answer'))
  const away = { ...verifications, countOpenProblems }
  await expect(measureProblems({ verifications: away })).rejects.toThrow('does not answer')
  expect(await metricsText()).not.toMatch(/^multihub_ledger_problems \d/m)
})

test('problems stay known until a later verification of the shard has ended without them', async () => {
  await using fixture = await openFixture()
  const { store } = fixture
  expect(await knownProblems(store)).toBe('0')
  await writeJournal(store, 3)
  const [, second] = journalOf(3, '1000', 2n)
  const altered = withBatches(store, second === undefined ? [] : [second])
  expect((await verifyLedger(altered)).problems).toHaveLength(1)
  expect(await knownProblems(store)).toBe('1')

  // A new verification has begun with the shard and has read nothing of it yet.
  await startVerification(store.verifications, true)
  const reading = Promise.withResolvers<void>()
  const gate = Promise.withResolvers<void>()
  const held = withReads(store, (shard) => {
    if (shard === SHARD) reading.resolve()
    return gate.promise
  })
  const verifier = createVerifier(held, trustedClock, 'one', 0)
  verifier.wake()
  await reading.promise
  expect((await store.verifications.listShards()).get(SHARD)?.problems).toEqual([])
  expect(await knownProblems(store)).toBe('1')
  gate.resolve()
  await eventually(
    () => getVerification(store.verifications),
    (progress) => progress?.is_finished === true,
  )
  await verifier.stop()
  expect(await knownProblems(store)).toBe('0')
})
