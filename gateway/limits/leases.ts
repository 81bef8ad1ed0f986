import { Unavailable } from '#lib/contract/errors/unavailable.ts'
import { createLru } from '#lib/patterns/lru.ts'
import { publicErrorOf } from '#lib/platform/rpc/translate-errors.ts'
import { log } from '#lib/platform/telemetry/log.ts'
import { clock, every, withinTime } from '#lib/platform/time.ts'
import type { Lease } from './lease.ts'

/** The leases of this process, which do not keep from others what nobody here asks for. */
export interface Leases {
  /** The lease under a key, made when it is first asked for. Throws 2002 once they are closed. */
  leaseOf(key: string, make: () => Lease): Lease
  /** Gives back what is left, once, for as long as that may take. */
  close(): Promise<void>
}

/** What does not fit is pushed out, the one that went unused for longest first. */
const LEASES_MAX = 20_000
const PUSHED_OUT_MAX = 20_000
const SWEEP_MS = 1_000
const IDLE_MS = 5_000
const GIVE_BACKS_AT_ONCE = 50
/** A part of the 15 seconds that a process has to end in (R5). */
const CLOSE_MAX_MS = 3_000

/** Makes an empty set and starts its sweeps, which give back what was not used lately or was pushed out. */
export function createLeases(leases_max = LEASES_MAX): Leases {
  const pushed_out: Lease[] = []
  const leases = createLru<Lease>(leases_max, (lease) => {
    // With a store that is so far behind, what is left of this one is lost until its window ends.
    if (pushed_out.length < PUSHED_OUT_MAX) pushed_out.push(lease)
  })
  let closed = false
  let sweeping = Promise.resolve()
  const sweeps = every(
    SWEEP_MS,
    () => {
      sweeping = sweep()
      return sweeping
    },
    (error) => log.error({ error }, 'a sweep of leases failed'),
  )

  async function sweep(): Promise<void> {
    await giveBackAll(pushed_out)
    await giveBackAll(idleOf(leases.values()))
  }

  return {
    leaseOf(key, make) {
      if (closed) throw publicErrorOf(new Unavailable('the limits are closed'))
      const known = leases.get(key)
      if (known !== undefined) return known
      const lease = make()
      leases.set(key, lease)
      return lease
    },
    async close() {
      closed = true
      sweeps.cancel()
      const held = [...leases.values(), ...pushed_out]
      leases.clear()
      await withinTime(Promise.all([sweeping, giveBackAll(held)]), CLOSE_MAX_MS)
      // What is not under way by now is lost until its window ends.
      held.length = 0
    },
  }
}

/** Those that hold something and were not used lately; the leases come in the order of their use. */
function idleOf(leases: Iterable<Lease>): Lease[] {
  const idle_since_ms = clock.monotonic_ms() - IDLE_MS
  const idle: Lease[] = []
  for (const lease of leases) {
    if (lease.usedAtMs() > idle_since_ms) break
    if (lease.left() > 0) idle.push(lease)
  }
  return idle
}

/** Takes them from the list. When the store fails it goes no further: what stays on the list keeps until another time. */
async function giveBackAll(list: Lease[]): Promise<void> {
  while (list.length > 0) {
    const group = list.splice(0, GIVE_BACKS_AT_ONCE)
    const results = await Promise.allSettled(group.map((lease) => lease.giveBack()))
    const failed = results.find((result) => result.status === 'rejected')
    if (failed === undefined) continue
    list.unshift(...group)
    log.warn({ error: failed.reason }, 'leases of limits could not be given back')
    return
  }
}
