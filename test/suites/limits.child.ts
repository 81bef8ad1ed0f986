import { text } from 'node:stream/consumers'
import { useClock } from '#lib/base/time.ts'
import { createNonceStore } from '../../gateway/auth/nonce-store.ts'
import { nonceTtlMs } from '../../gateway/auth/replay.ts'
import { V1_WINDOW_MS } from '../../gateway/auth/signature-schemes.ts'
import { countOutcomes, limitedCaller } from '../../gateway/limits/limits.fixture.ts'
import { createLimits } from '../../gateway/limits/limits.ts'
import { createAdjustableClock } from '../support/adjustable-clock.ts'
import { type LimitsJob, type LimitsResult, openGatewayStoreAt } from './limits.system.ts'

/** Runs the limits of one gateway in its own process. It starts its job when its input ends, and prints the result. */
const job: LimitsJob = JSON.parse(process.argv[2] ?? '{}')

const adjustable = createAdjustableClock()
adjustable.stopWall(job.wall_ms)
useClock(adjustable)
const gateway_store = await openGatewayStoreAt(job.store_location)
const limits = createLimits(gateway_store.counters)
const nonces = createNonceStore(gateway_store.nonces, { ttl_ms: nonceTtlMs(V1_WINDOW_MS) })
const caller = limitedCaller({
  application_id: job.application_id,
  daily_limit: BigInt(job.daily_limit),
  rate_limits: new Map([[job.method, job.quota]]),
})
process.stdout.write('ready\n')
await text(process.stdin)

const [quota_outcomes, daily_outcomes, nonce_results] = await Promise.all([
  countOutcomes(job.calls, () => limits.useMethodQuota(job.method, caller)),
  countOutcomes(job.calls, () => limits.useDailyLimit(caller)),
  Promise.all(
    Array.from({ length: job.calls }, (_, index) => nonces.consume(job.application_id, `nonce-${index}`)),
  ),
])
const nonces_consumed = nonce_results.filter((result) => result === 'consumed').length
const result: LimitsResult = { quota_outcomes, daily_outcomes, nonces_consumed }
process.stdout.write(`${JSON.stringify(result)}\n`)
await limits.close()
await gateway_store.store.close()
