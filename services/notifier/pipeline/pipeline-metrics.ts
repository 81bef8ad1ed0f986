import { ENVIRONMENTS } from '#lib/contract/environment.ts'
import { oldest_due_callback } from '#lib/patterns/oldest-due-callback.ts'
import { counter, gauge, measureOrForget } from '#lib/telemetry/metrics.ts'
import { breakerState } from '../domain/breaker.ts'
import type { Delivery } from '../domain/delivery.ts'
import type { Destination } from '../domain/destination.ts'
import type { Deliveries } from '../store/deliveries.ts'
import type { Destinations } from '../store/notifier-store.ts'
import type { OwnedDestination } from './owned-destination.ts'
import type { Slots } from './slots.ts'

const attempts = counter(
  'multihub_delivery_attempts_total',
  'Attempts to deliver a callback, by environment and outcome: delivered, a reason of failure, blocked or postponed.',
  ['environment', 'outcome'],
)
const breakers = gauge(
  'multihub_delivery_breakers',
  'Destinations that this process has leased, by state of their breaker. Those that only wait for a probe are not leased.',
  ['state'],
)
const breaker_changes = counter(
  'multihub_delivery_breaker_changes_total',
  'Breakers of destinations that opened or closed.',
  ['to'],
)
const dead_deliveries = counter(
  'multihub_dead_deliveries_total',
  'Deliveries that used up their tries, by environment and cause: a breaker_open among the tries, or failures alone.',
  ['environment', 'cause'],
)
const waiting_deliveries = gauge(
  'multihub_waiting_deliveries',
  'Deliveries in the whole store that wait until a breaker closes or an endpoint has a secret; 100 at most each.',
  ['environment', 'waits_for'],
)
const slots_in_use = gauge(
  'multihub_delivery_slots_in_use',
  'Attempts in progress in this process, by the health of their destinations: healthy, unproven or sick.',
  ['health'],
)

const WAITS = [
  { status: 'dead', waits_for: 'breaker' },
  { status: 'blocked', waits_for: 'secret' },
] as const
const WAITING_MAX = 100

/** Counts an attempt that has ended. */
export function countAttempt({ environment }: Pick<Delivery, 'environment'>, outcome: string): void {
  attempts.increment({ environment, outcome })
}

/** Counts a delivery that has become dead. A failed probe is not counted: its delivery was dead before. */
export function countIfDead(before: Delivery, after: Delivery): void {
  if (after.status !== 'dead' || before.is_probe) return
  dead_deliveries.increment({
    environment: after.environment,
    cause: after.waits_since === undefined ? 'failures' : 'breaker_open',
  })
}

/** Counts a breaker that opened or closed. */
export function countBreakerChange(to: 'open' | 'closed'): void {
  breaker_changes.increment({ to })
}

/** Measures what waits for a secret or breaker in the whole store, by four reads. When one fails, the metric has no value. */
export function measureWaiting(deliveries: Pick<Deliveries, 'find'>): Promise<void> {
  const series = ENVIRONMENTS.names.flatMap((environment) => WAITS.map((wait) => ({ environment, ...wait })))
  return measureOrForget(
    async () => {
      for (const { environment, status, waits_for } of series) {
        const range = { equals: [environment, status] }
        const found = await deliveries.find('by_waiting_since', range, { limit: WAITING_MAX })
        waiting_deliveries.set({ environment, waits_for }, found.length)
      }
    },
    () => {
      for (const { environment, waits_for } of series) waiting_deliveries.remove({ environment, waits_for })
    },
  )
}

/**
 * Sets the gauges of a process, also when the read of the longest-waiting destination without an owner fails. `at` is by the
 * clock of the store.
 */
export async function measurePipeline(
  destinations: Pick<Destinations, 'find'>,
  owned: Iterable<OwnedDestination>,
  slots: Slots,
  at: Date,
): Promise<void> {
  let unowned: Destination | undefined
  try {
    unowned = (await destinations.find('by_wake', { to: at }, { limit: 1 }))[0]
  } finally {
    setGauges(owned, slots, at, unowned?.wake_at)
  }
}

function setGauges(owned: Iterable<OwnedDestination>, slots: Slots, at: Date, waiting_since = at): void {
  const states = { closed: 0, half_open: 0, open: 0 }
  let oldest_ms = Math.min(at.getTime(), waiting_since.getTime())
  for (const { breaker, queue } of owned) {
    states[breakerState(breaker, at)] += 1
    oldest_ms = Math.min(oldest_ms, queue.firstDueMs())
  }
  for (const [state, count] of Object.entries(states)) breakers.set({ state }, count)
  oldest_due_callback.set({ waits_in: 'deliveries' }, (at.getTime() - oldest_ms) / 1_000)
  for (const [health, count] of Object.entries(slots.inUse())) slots_in_use.set({ health }, count)
}
