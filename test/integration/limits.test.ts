import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, test } from '@jest/globals'
import { MongoClient } from 'mongodb'
import { randomHex } from '#lib/platform/crypto/random.ts'
import { callerWith, tally } from '../../gateway/limits/limits.fixture.ts'
import { createLimits } from '../../gateway/limits/limits.ts'
import { createNonces } from '../../gateway/limits/nonces.ts'
import { limitsContract } from '../suites/limits.suite.ts'
import { openEdge } from '../suites/limits.system.ts'
import { mongodbForTests, startPrivateMongoProxy } from '../support/servers.ts'

const folder = await mkdtemp(join(tmpdir(), 'multihub-limits-'))
const mongodb = await mongodbForTests()
const proxy = await startPrivateMongoProxy()
const database = `test_${randomHex(6)}`

afterAll(async () => {
  await rm(folder, { recursive: true, force: true })
  if ('stop' in proxy) await proxy.stop()
  if ('skip' in mongodb) return
  const client = new MongoClient(mongodb.uri)
  await client.db(database).dropDatabase()
  await client.close()
  await mongodb.stop()
})

limitsContract('embedded', { database, directory: folder })

if ('skip' in mongodb) test.skip(`limits on mongodb: ${mongodb.skip}`, () => {})
else limitsContract('mongodb', { database, mongodb_uri: mongodb.uri })

if ('skip' in proxy) test.skip(`limits without their database: ${proxy.skip}`, () => {})
else
  describe('limits without their database', () => {
    test('nonces are unsure, leases last, and what was lost grants nothing', async () => {
      const edge = await openEdge({ database, mongodb_uri: proxy.uri }, 1_500)
      const nonces = createNonces(edge.nonces, { remembered_ms: 660_000 })
      const limits = createLimits(edge.counters)
      const caller = callerWith({ application_id: '5001' })
      const admit = (bucket: string, calls: number) => tally(calls, () => limits.admit(bucket, caller))
      await nonces.spend('5001', 'before')
      await limits.admit('payment.in', caller)
      await limits.admit('refund.request', caller)

      proxy.stall()
      const during = await Promise.all([
        nonces.spend('5001', 'stalled'),
        nonces.spend('5001', 'before'),
        admit('payment.in', 999),
        admit('refund.request', 20),
      ])
      expect(during).toEqual([
        'unsure',
        'unsure',
        { admitted: 999, refused: 0, unavailable: 0 },
        { admitted: 0, refused: 0, unavailable: 20 },
      ])
      await proxy.cut()
      expect(await nonces.spend('5001', 'cut')).toBe('unsure')
      expect(await admit('refund.request', 5)).toMatchObject({ unavailable: 5 })
      await limits.close()

      await proxy.restore()
      await edge.store.close()
      const later = await openEdge({ database, mongodb_uri: proxy.uri })
      const again = createNonces(later.nonces, { remembered_ms: 660_000 })
      expect(await again.spend('5001', 'before')).toBe('reused')
      const afresh = createLimits(later.counters)
      // What did not get as far as its write took nothing away.
      const rest = await tally(20, () => afresh.admit('refund.request', caller))
      expect(rest).toEqual({ admitted: 9, refused: 11, unavailable: 0 })
      await later.store.close()
    })
  })
