import { breakerState } from '../domain/breaker.ts'
import type { Destination } from '../domain/destination.ts'
import { type Deliveries, findWaiting, findNextDue } from '../store/deliveries.ts'

/** How often a destination with blocked deliveries is looked at for a secret (N7). */
const BLOCKED_LOOK_MS = 10_000

/**
 * When a notifier must look at a destination: for its next attempt, for the probe of an open breaker that cost
 * deliveries their tries, or to see whether a missing secret was issued. `undefined` when nothing waits there.
 */
export async function findNextWake(
  deliveries: Pick<Deliveries, 'find'>,
  storeNow: () => Date,
  { destination_key, breaker }: Destination,
): Promise<Date | undefined> {
  const at = storeNow()
  const [due, dead, blocked] = await Promise.all([
    findNextDue(deliveries, destination_key),
    findWaiting(deliveries, destination_key, 'dead', 1),
    findWaiting(deliveries, destination_key, 'blocked', 1),
  ])
  const times: number[] = []
  if (due !== undefined) times.push(due.getTime())
  if (dead.length > 0)
    times.push(breakerState(breaker, at) === 'open' ? (breaker.probe_at ?? at).getTime() : at.getTime())
  if (blocked.length > 0) times.push(at.getTime() + BLOCKED_LOOK_MS)
  return times.length === 0 ? undefined : new Date(Math.min(...times))
}
