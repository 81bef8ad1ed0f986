import { text } from 'node:stream/consumers'
import { createNonceStore } from '../../gateway/auth/nonce-store.ts'
import { countOutcomes, limitedCaller } from '../../gateway/limits/limits.fixture.ts'
import { createLimits } from '../../gateway/limits/limits.ts'
import { type LimitsJob, type LimitsResult, openGatewayStoreAt } from './limits.system.ts'

/** Runs the limits of one gateway in its own process. It starts its job when its input ends, and prints the result. */
const job: LimitsJob = JSON.parse(process.argv[2] ?? '{}')

const gateway_store = await openGatewayStoreAt(job.place)
const limits = createLimits(gateway_store.counters)
const nonces = createNonceStore(gateway_store.nonces, { ttl_ms: 660_000 })
const caller = limitedCaller({
  application_id: job.application_id,
  daily_limit: BigInt(job.daily_limit),
  rate_limits: new Map([[job.bucket, job.limit]]),
})
process.stdout.write('ready\n')
await text(process.stdin)

const [bucket, day, nonce_results] = await Promise.all([
  countOutcomes(job.calls, () => limits.useMethodQuota(job.bucket, caller)),
  countOutcomes(job.calls, () => limits.useDailyLimit(caller)),
  Promise.all(
    Array.from({ length: job.calls }, (_, at) => nonces.consume(job.application_id, `nonce-${at}`)),
  ),
])
const nonces_consumed = nonce_results.filter((result) => result === 'consumed').length
process.stdout.write(
  `${JSON.stringify({ bucket, day, nonces_consumed: nonces_consumed } satisfies LimitsResult)}\n`,
)
await limits.close()
await gateway_store.store.close()
