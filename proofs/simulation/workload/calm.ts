import { sleep } from '#lib/base/time.ts'
import { type CustomerDeps, depositOn } from './customer.ts'
import type { SimulatedMerchant } from './merchants.ts'

/** The longest time until an open circuit breaker lets a new payment through as its probe. */
const PROBE_MAX_MS = 60_000

/** How many deposits are made on each route, so that most processes get one. */
const DEPOSITS = 4

/**
 * Makes deposits on all routes in production, one after the other, after a minute without faults, when every circuit breaker
 * admits a probe. The first one at each process closes its breaker, so none may be refused with 7002 (E9).
 */
export async function depositInCalm(
  deps: CustomerDeps,
  merchants: readonly SimulatedMerchant[],
): Promise<void> {
  const routes = merchants.flatMap((merchant) =>
    merchant.routes
      .filter(({ connector }) => connector !== 'sandbox')
      .map((route) => [merchant, route] as const),
  )
  if (routes.length === 0) return
  await sleep(PROBE_MAX_MS + 1_000)
  for (const [merchant, route] of routes) {
    route.may_be_down = false
    for (let number = 1; number <= DEPOSITS; number += 1)
      await depositOn(deps, merchant, route, `calm-${route.service_id}-${number}`)
  }
}
