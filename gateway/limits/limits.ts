import { clock } from '#lib/base/time.ts'
import type { Collection } from '#lib/store/store.ts'
import type { Caller } from '../auth/credential.ts'
import { DAILY_BUCKET } from '../http/limit-refusal.ts'
import { DEFAULT_QUOTAS } from '../methods/public-methods.ts'
import type { QuotaCounter } from '../store.ts'
import { createLeaseCache } from './lease-cache.ts'
import type { Quota } from './quota-counter.ts'
import { createTokenLease } from './token-lease.ts'

/** The parts of a caller that its limits depend on. */
export type LimitedCaller = Pick<Caller, 'application_id' | 'daily_limit' | 'rate_limits'>

/** The rate and daily limits of callers. */
export type Limits = ReturnType<typeof createLimits>

const MINUTE_MS = 60_000
const DAY_MS = 86_400_000

/**
 * Makes the limits over the shared counters. All gateways on one store together never allow more calls than a limit,
 * whatever fails; after a failure they may allow fewer. This process holds at most `leases_max` leases. `now_ms` is the time
 * by which windows and days are judged; by default the clock of this process.
 */
export function createLimits(
  counters: Collection<QuotaCounter>,
  { leases_max, now_ms = () => clock.now_ms() }: { leases_max?: number; now_ms?: () => number } = {},
) {
  const { getOrCreate, close } = createLeaseCache(leases_max)

  // The limit is a part of each key: after the operator changes it, callers get a new lease, so a refusal that was
  // remembered under the old limit does not apply.
  return {
    /** Counts a request against the credential's daily limit (UTC); throws 3009 (429) with details when it is used up. */
    async useDailyLimit({ application_id, daily_limit }: LimitedCaller): Promise<void> {
      if (daily_limit === 0n) return
      const limit = Number(daily_limit)
      const day = Math.floor(now_ms() / DAY_MS)
      const createLease = () =>
        createTokenLease({
          counters,
          bucket: DAILY_BUCKET,
          quota: dailyQuota(application_id, day, limit),
          now_ms,
        })
      await getOrCreate(`${application_id} ${day} ${limit}`, createLease).acquire()
    },
    /**
     * Uses one token of the caller's quota for a method; throws 1000 (429) when none is left. A method without a quota is
     * unlimited.
     */
    async useMethodQuota(method: string, { application_id, rate_limits }: LimitedCaller): Promise<void> {
      const limit = rate_limits.get(method) ?? DEFAULT_QUOTAS.get(method)
      if (limit === undefined) return
      const createLease = () => {
        const quota = { application_id, name: method, limit, window_ms: MINUTE_MS }
        return createTokenLease({ counters, bucket: method, quota, now_ms })
      }
      await getOrCreate(`${application_id} ${method} ${limit}`, createLease).acquire()
    },
    /** Gives back the unused tokens, once (R5); from then on every call throws 2002. */
    close,
  }
}

function dailyQuota(application_id: string, day: number, limit: number): Quota {
  const opens_at_ms = day * DAY_MS
  const date = new Date(opens_at_ms).toISOString().slice(0, 10)
  return { application_id, name: `${DAILY_BUCKET}:${date}`, limit, window_ms: DAY_MS, opens_at_ms }
}
