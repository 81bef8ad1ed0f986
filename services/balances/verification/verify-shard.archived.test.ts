import { afterEach, beforeEach, describe, expect, test } from '@jest/globals'
import { ArchiveUnavailable } from '#lib/store/errors.ts'
import { trustedClock } from '../../../test/support/clock-guard.ts'
import { type ArchiveFixture, checkpointAt, openArchiveFixture } from '../archive.fixture.ts'
import { CorruptJournal } from '../domain/hash-chain.ts'
import { shardOf } from '../domain/shard.ts'
import { credit, withJournal } from '../ledger.fixture.ts'
import { createLedger } from '../ledger.ts'
import type { ShardVerificationDocument } from '../store/verifications.ts'
import { startVerification } from '../use-cases/verification.ts'
import { verifyLedger } from './verification.fixture.ts'
import { createVerifier } from './verifier.ts'

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

describe('without the archive', () => {
  beforeEach(async () => {
    await book(['a'], ['b'], ['c'], ['d'])
    await checkpointAt(archive.store, SHARD)
    await verifyLedger(archive.store)
    expect(await archive.archive(1n)).toBe(3)
    await book(['e'])
  })

  const statusOfShard = async () => (await archive.store.verifications.getShard(SHARD))?.status

  test('a verification from the first batch names what it could not read, and verifies what was not archived', async () => {
    const problems = [expect.stringContaining(`shard ${SHARD}, batch 1: the archive file`)]
    expect(await verifyLedger(archive.store_without_archive)).toEqual({ entries: 5n, problems })
    expect(await statusOfShard()).toBe('stopped')
    await book(['f'])
    expect(await verifyLedger(archive.store_without_archive, false)).toEqual({ entries: 6n, problems: [] })
    await book(['g'])
    await alter(7n)
    expect((await verifyLedger(archive.store_without_archive, false)).problems).toEqual([
      expect.stringContaining('batch 7 does not match its hash'),
    ])
    expect(await archive.store.stops.listStopped()).toMatchObject([{ shard: SHARD, seq: 7n }])
  })

  test('a verification from the first batch stops a shard with a newer altered batch, and ends no stop', async () => {
    await alter(5n)
    const { problems } = await verifyLedger(archive.store_without_archive)
    expect(problems).toEqual([
      expect.stringContaining('batch 1: the archive file'),
      expect.stringContaining('batch 5 does not match its hash'),
    ])
    expect(await archive.store.stops.listStopped()).toMatchObject([{ shard: SHARD, seq: 5n }])
    await alter(5n)
    expect((await verifyLedger(archive.store_without_archive)).problems).toHaveLength(1)
    expect(await archive.store.stops.listStopped()).toHaveLength(1)
    expect((await verifyLedger(archive.store)).problems).toEqual([])
    expect(await archive.store.stops.listStopped()).toEqual([])
    expect(await statusOfShard()).toBe('done')
  })

  test('a missing batch at the earlier resume point stops the shard', async () => {
    await remove(4n)
    expect((await verifyLedger(archive.store_without_archive)).problems).toEqual([
      expect.stringContaining('batch 4 was verified earlier and is missing'),
      expect.stringContaining('batch 1: the archive file'),
    ])
    expect(await archive.store.stops.listStopped()).toMatchObject([{ shard: SHARD, seq: 4n }])
  })

  test.each([
    ['the earlier resume point', () => Promise.resolve()],
    ['the end, without a resume point', () => forgetResumePoint()],
  ])('a missing batch before %s stops the shard', async (_where, prepare) => {
    await prepare()
    await remove(2n)
    expect((await verifyLedger(archive.store_without_archive)).problems).toEqual([
      expect.stringContaining('batch 1: the archive file'),
      expect.stringContaining('batch 3 was found where batch 2 must follow'),
    ])
    expect(await archive.store.stops.listStopped()).toMatchObject([{ shard: SHARD, seq: 2n }])
  })

  test('a stub that was read once as it was not written stops nothing', async () => {
    const { listDocuments } = archive.store.journal
    let failures = 0
    const store = withJournal(archive.store_without_archive, {
      async listDocuments(...parameters) {
        failures += 1
        // The page, and its first batch alone.
        if (failures <= 2) throw new CorruptJournal('a bad reading')
        return await listDocuments(...parameters)
      },
    })
    expect((await verifyLedger(store)).problems).toEqual([expect.stringContaining('the archive file')])
    expect(failures).toBeGreaterThan(2)
    expect(await archive.store.stops.listStopped()).toEqual([])
  })

  test('a verification that ends among the stubs is continued before them', async () => {
    const { listDocuments } = archive.store.journal
    const ended = Promise.withResolvers<void>()
    const store = withJournal(archive.store_without_archive, {
      async listDocuments(...parameters) {
        void verifier.stop().then(ended.resolve)
        return await listDocuments(...parameters)
      },
    })
    await startVerification(store.verifications, true)
    const verifier = createVerifier(store, trustedClock, 'test', 0)
    verifier.wake()
    await ended.promise
    const left = await archive.store.verifications.getShard(SHARD)
    expect(left).toMatchObject({ status: 'running', verified: { seq: 0n } })
    expect(left?.lease).toBeUndefined()
  })
})

async function remove(seq: bigint): Promise<void> {
  const { version = 0 } = (await archive.stored.get({ shard: SHARD, seq })) ?? {}
  await archive.stored.delete({ shard: SHARD, seq }, version)
}

async function forgetResumePoint(): Promise<void> {
  const { verifications } = archive.store
  const { version = 0, ...verified } = (await verifications.getShard(SHARD)) ?? {}
  await verifications.putShard({ ...verified, resume_point: undefined } as ShardVerificationDocument, version)
}

/** Alters the token of a batch, or takes the alteration back. */
async function alter(seq: bigint): Promise<void> {
  const document = await archive.stored.get({ shard: SHARD, seq })
  if (document === undefined) throw new Error('the batch is not stored')
  const token = [...document.token].reverse().join('')
  await archive.stored.replace({ ...document, token }, document.version)
}
