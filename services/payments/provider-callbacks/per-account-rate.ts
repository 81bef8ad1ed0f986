import { clock } from '#lib/base/time.ts'

/** Admits a limited number of actions per provider account and interval. */
export interface PerAccountRate {
  /** Whether one more action is admitted now. */
  admit(account_id: string): boolean
}

/**
 * Makes a rate of `max` per account and `interval_ms`, which begins with the first action. It remembers one window per
 * account, so call it only with the ids of configured accounts.
 */
export function createPerAccountRate(max: number, interval_ms: number): PerAccountRate {
  const windows = new Map<string, { readonly since_ms: number; count: number }>()
  return {
    admit(account_id) {
      const now_ms = clock.monotonic_ms()
      const window = windows.get(account_id)
      if (window === undefined || now_ms - window.since_ms >= interval_ms) {
        windows.set(account_id, { since_ms: now_ms, count: 1 })
        return true
      }
      window.count += 1
      return window.count <= max
    },
  }
}
