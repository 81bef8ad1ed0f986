import { spawn } from 'node:child_process'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { useClock } from '#lib/base/time.ts'
import { createNonceStore } from '../../gateway/auth/nonce-store.ts'
import { nonceTtlMs } from '../../gateway/auth/replay.ts'
import { V1_WINDOW_MS } from '../../gateway/auth/signature-schemes.ts'
import { countOutcomes, limitedCaller, type OutcomeCounts } from '../../gateway/limits/limits.fixture.ts'
import { createLimits } from '../../gateway/limits/limits.ts'
import { NODE_OPTIONS } from '../../scripts/node-options.mjs'
import { createAdjustableClock } from '../support/adjustable-clock.ts'
import type { StoreLocation } from '../support/effects-system.ts'
import {
  type LimitsJob,
  type LimitsResult,
  type OpenGatewayStore,
  openGatewayStoreAt,
} from './limits.system.ts'

const CHILD = join(import.meta.dirname, 'limits.child.ts')
const METHOD = 'payment.notification'
const TTL_MS = nonceTtlMs(V1_WINDOW_MS)

/** The suite for limits and nonces of several gateways, which must pass on every store. */
export function limitsSuite(name: string, store_location: StoreLocation): void {
  describe(`limits on ${name}`, () => {
    const adjustable = createAdjustableClock()
    // No window of a quota, and no day, ends during a test.
    adjustable.stopWall()
    let restore: () => void
    let gateway_stores: OpenGatewayStore[]
    beforeAll(async () => {
      restore = useClock(adjustable)
      gateway_stores = [await openGatewayStoreAt(store_location), await openGatewayStoreAt(store_location)]
    })
    afterAll(async () => {
      await Promise.all(gateway_stores.map(({ store }) => store.close()))
      restore()
    })

    test('two gateways together allow no more than the method quota and the daily limit', async () => {
      const gateways = gateway_stores.map(({ counters }) => createLimits(counters))
      const caller = limitedCaller({ daily_limit: 75n, rate_limits: new Map([[METHOD, 50]]) })
      const quota_outcomes = await Promise.all(
        gateways.map((limits) => countOutcomes(100, () => limits.useMethodQuota(METHOD, caller))),
      )
      expect([sumOf(quota_outcomes, 'allowed'), sumOf(quota_outcomes, 'refused')]).toEqual([50, 150])
      const daily_outcomes = await Promise.all(
        gateways.map((limits) => countOutcomes(100, () => limits.useDailyLimit(caller))),
      )
      expect([sumOf(daily_outcomes, 'allowed'), sumOf(daily_outcomes, 'refused')]).toEqual([75, 125])
    })

    test('two gateways together allow exactly a large quota', async () => {
      const gateways = gateway_stores.map(({ counters }) => createLimits(counters))
      const caller = limitedCaller({ application_id: '2001', rate_limits: new Map([[METHOD, 4_000]]) })
      const rounds: OutcomeCounts[] = []
      for (let round = 0; round < 5; round += 1) {
        rounds.push(
          ...(await Promise.all(
            gateways.map((limits) => countOutcomes(900, () => limits.useMethodQuota(METHOD, caller))),
          )),
        )
      }
      expect([sumOf(rounds, 'allowed'), sumOf(rounds, 'refused')]).toEqual([4_000, 5_000])
    })

    test('a gateway can use the tokens that another one returned when it stopped', async () => {
      const [first, second] = gateway_stores.map(({ counters }) => createLimits(counters))
      const caller = limitedCaller({ application_id: '3001', rate_limits: new Map([[METHOD, 1_280]]) })
      await first?.useMethodQuota(METHOD, caller)
      await first?.close()
      const rest = await countOutcomes(1_300, async () => second?.useMethodQuota(METHOD, caller))
      expect(rest).toEqual({ allowed: 1_279, refused: 21, unavailable: 0 })
    })

    test('one of many concurrent requests consumes a nonce', async () => {
      const stores = gateway_stores.map(({ nonces }) => createNonceStore(nonces, { ttl_ms: TTL_MS }))
      const outcomes = await Promise.all(
        Array.from({ length: 40 }, (_, index) => stores[index % 2]?.consume('1001', 'the same')),
      )
      expect(outcomes.filter((outcome) => outcome === 'consumed')).toHaveLength(1)
      expect(outcomes.filter((outcome) => outcome === 'reused')).toHaveLength(39)
    })

    test('two processes together allow exactly both limits and consume each nonce once', async () => {
      const job = {
        store_location,
        application_id: '4001',
        method: METHOD,
        quota: 50,
        daily_limit: 75,
        calls: 200,
        wall_ms: adjustable.now_ms(),
      }
      const results = await Promise.all((await Promise.all([begin(job), begin(job)])).map((go) => go()))
      const quota_outcomes = results.map((result) => result.quota_outcomes)
      const daily_outcomes = results.map((result) => result.daily_outcomes)
      expect(sumOf(quota_outcomes, 'allowed')).toBe(50)
      expect(sumOf(daily_outcomes, 'allowed')).toBe(75)
      expect(sumOf([...quota_outcomes, ...daily_outcomes], 'unavailable')).toBe(0)
      expect(results.map(({ nonces_consumed }) => nonces_consumed).reduce((a, b) => a + b)).toBe(job.calls)
    })
  })
}

function sumOf(counts: readonly OutcomeCounts[], outcome: keyof OutcomeCounts): number {
  return counts.reduce((sum, { [outcome]: count }) => sum + count, 0)
}

/** Starts a process; returns, once it is ready, the function that starts its job, so that all jobs start together. */
async function begin(job: LimitsJob): Promise<() => Promise<LimitsResult>> {
  const child = spawn(process.execPath, [...NODE_OPTIONS, CHILD, JSON.stringify(job)], {
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]()
  const ready = await lines.next()
  if (ready.value !== 'ready') throw new Error('a process of the suite did not start')
  return async () => {
    child.stdin.end('go')
    const { value } = await lines.next()
    return JSON.parse(String(value))
  }
}
