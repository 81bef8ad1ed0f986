import { afterEach, beforeEach, expect, test } from '@jest/globals'
import { ArchiveUnavailable } from '#lib/store/errors.ts'
import { trustedClock } from '../../../test/support/clock-guard.ts'
import { type ArchiveFixture, openArchiveFixture } from '../archive.fixture.ts'
import { CorruptJournal } from '../domain/hash-chain.ts'
import { shardOf } from '../domain/shard.ts'
import { credit, withJournal } from '../ledger.fixture.ts'
import { createLedger } from '../ledger.ts'
import { verifyLedger } from './verification.fixture.ts'

const SHARD = shardOf('1000', 'test')

let archive: ArchiveFixture
beforeEach(async () => {
  archive = await openArchiveFixture()
})
afterEach(() => archive[Symbol.asyncDispose]())

/** Books credits, each in a batch of its own. */
async function book(...credits: readonly (readonly [id: string, payment_id?: string])[]): Promise<void> {
  const ledger = createLedger(archive.store, trustedClock)
  for (const [id, payment_id] of credits)
    expect(await ledger.submit('test', { ...credit(id, 100n), payment_id })).toHaveProperty('recorded')
  await ledger.stop()
}

test.each([
  ['the archive', new ArchiveUnavailable('x', 'EIO')],
  ['a batch', new CorruptJournal('a bad reading')],
])('a batch whose check could not read %s once is checked again', async (_what, error) => {
  await book(['p:2:credit', 'p'], ['p:3:credit', 'p'], ['r:credit', 'r'])
  const { problems } = await verifyLedger(archive.store)
  expect(problems).toEqual([expect.stringContaining('entry p:3:credit credits the payment p')])
  const { listStatementBatches } = archive.store.journal
  let failures = 0
  const store = withJournal(archive.store, {
    async listStatementBatches(...parameters) {
      failures += 1
      if (failures === 1) throw error
      return await listStatementBatches(...parameters)
    },
  })
  expect(await verifyLedger(store)).toEqual({ entries: 3n, problems })
  expect(failures).toBe(2)
})

test.each([
  ['the archive', new ArchiveUnavailable('x', 'EIO'), 'archive'],
  ['a batch', new CorruptJournal('a bad reading'), 'journal'],
])('a batch whose check cannot read %s twice is not verified', async (_what, error, place) => {
  await book(['p:2:credit', 'p'], ['p:3:credit', 'p'], ['r:credit', 'r'])
  const store = withJournal(archive.store, { listStatementBatches: () => Promise.reject(error) })
  const { entries, problems } = await verifyLedger(store)
  expect({ entries, problems }).toEqual({
    entries: 1n,
    problems: [`shard ${SHARD}, batch 2: ${error.message}`],
  })
  const verified = await archive.store.verifications.getShard(SHARD)
  expect(verified).toMatchObject({ status: 'stopped', open_problems: 1, problems: [{ seq: 2n, place }] })
})
