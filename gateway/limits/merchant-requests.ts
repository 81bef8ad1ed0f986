import { createKeyedCount } from '#lib/base/limit.ts'
import type { Caller } from '../auth/credential.ts'
import { HTTP_LIMITS } from '../http/http-limits.ts'
import { CONCURRENCY_BUCKET, createLimitRefusal } from '../http/limit-refusal.ts'

/** The requests in progress of each merchant. */
export type MerchantRequests = ReturnType<typeof createMerchantRequests>

/** Other requests end at an unknown time; clients should not ask at once again. */
const RETRY_AFTER_MS = 1_000

/**
 * Makes the limit of the requests in progress of each merchant and environment in this process (E10). So a slow provider of
 * one merchant does not delay other merchants, and requests of the test environment do not delay requests of production.
 */
export function createMerchantRequests(
  requests_max: number = HTTP_LIMITS.merchant_requests_max,
  kept_for_reads: number = HTTP_LIMITS.merchant_requests_for_reads,
) {
  const counts = createKeyedCount()
  return {
    /**
     * Counts one more request in progress; returns the function that ends it. Throws 1000 (429) when there are too many.
     * A part of the limit is kept for reads, so that a merchant whose creates wait can still look them up.
     */
    begin({ merchant_id, environment }: Pick<Caller, 'merchant_id' | 'environment'>, is_read: boolean) {
      const limit = is_read ? requests_max : requests_max - kept_for_reads
      const end = counts.begin(`${merchant_id} ${environment}`, limit)
      if (end === undefined)
        throw createLimitRefusal({ bucket: CONCURRENCY_BUCKET, limit, retry_after_ms: RETRY_AFTER_MS })
      return end
    },
  }
}
