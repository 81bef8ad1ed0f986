import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, describe, expect, test } from '@jest/globals'
import { MongoClient } from 'mongodb'
import { randomHex } from '#lib/base/crypto/random.ts'
import { useClock } from '#lib/base/time.ts'
import { createNonceStore } from '../../gateway/auth/nonce-store.ts'
import { nonceTtlMs } from '../../gateway/auth/replay.ts'
import { V1_WINDOW_MS } from '../../gateway/auth/signature-schemes.ts'
import { countOutcomes, limitedCaller } from '../../gateway/limits/limits.fixture.ts'
import { createLimits } from '../../gateway/limits/limits.ts'
import { limitsSuite } from '../suites/limits.suite.ts'
import { openGatewayStoreAt } from '../suites/limits.system.ts'
import { createAdjustableClock } from '../support/adjustable-clock.ts'
import { mongodbForTests, startPrivateMongoProxy } from '../support/servers.ts'

const TTL_MS = nonceTtlMs(V1_WINDOW_MS)
/** The time limit of the store is long, so that no call fails on a slow machine; in the outage it ends within a second. */
const OUTAGE_RATE = 100

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

limitsSuite('embedded', { database, directory: folder })

if ('skip' in mongodb) test.skip(`limits on mongodb: ${mongodb.skip}`, () => {})
else limitsSuite('mongodb', { database, mongodb_uri: mongodb.uri })

if ('skip' in proxy) test.skip(`limits without their database: ${proxy.skip}`, () => {})
else
  describe('limits without their database', () => {
    let restoreClock = (): void => {}
    afterEach(() => restoreClock())

    test('nonces are unknown, leases still allow calls, and lost responses grant nothing', async () => {
      const adjustable = createAdjustableClock()
      // No window of a quota ends during the test.
      adjustable.stopWall()
      restoreClock = useClock(adjustable)
      const gateway_store = await openGatewayStoreAt({ database, mongodb_uri: proxy.uri })
      const nonces = createNonceStore(gateway_store.nonces, { ttl_ms: TTL_MS })
      const limits = createLimits(gateway_store.counters)
      const caller = limitedCaller({ application_id: '5001' })
      const countCalls = (method: string, calls: number) =>
        countOutcomes(calls, () => limits.useMethodQuota(method, caller))
      await nonces.consume('5001', 'before')
      await limits.useMethodQuota('payment.in', caller)
      await limits.useMethodQuota('webhook.resend', caller)

      proxy.stall()
      adjustable.setRate(OUTAGE_RATE)
      const during = await Promise.all([
        nonces.consume('5001', 'stalled'),
        nonces.consume('5001', 'before'),
        countCalls('payment.in', 999),
        countCalls('webhook.resend', 20),
      ])
      expect(during).toEqual([
        'unknown',
        'unknown',
        { allowed: 999, refused: 0, unavailable: 0 },
        { allowed: 0, refused: 0, unavailable: 20 },
      ])
      await proxy.cut()
      expect(await nonces.consume('5001', 'cut')).toBe('unknown')
      expect(await countCalls('webhook.resend', 5)).toMatchObject({ unavailable: 5 })
      await limits.close()

      await proxy.restore()
      adjustable.setRate(1)
      await gateway_store.store.close()
      const later = await openGatewayStoreAt({ database, mongodb_uri: proxy.uri })
      const again = createNonceStore(later.nonces, { ttl_ms: TTL_MS })
      expect(await again.consume('5001', 'before')).toBe('reused')
      const restarted = createLimits(later.counters)
      // Calls that failed before their write used no tokens.
      const rest = await countOutcomes(20, () => restarted.useMethodQuota('webhook.resend', caller))
      expect(rest).toEqual({ allowed: 9, refused: 11, unavailable: 0 })
      await later.store.close()
    })
  })
