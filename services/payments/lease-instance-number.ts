import { randomFraction, randomHex } from '#lib/base/crypto/random.ts'
import { numericIds } from '#lib/base/ids.ts'
import { clock, every, now } from '#lib/base/time.ts'
import { Unavailable } from '#lib/contract/errors/unavailable.ts'
import type { ClockGuard } from '#lib/patterns/clock-guard.ts'
import { upsert } from '#lib/patterns/update.ts'
import { Conflict } from '#lib/store/errors.ts'
import type { Collection, Stored } from '#lib/store/store.ts'
import { log } from '#lib/telemetry/log.ts'
import type { InstanceNumberLease } from './store/payments-store.ts'

/** The instance numbers are 0 to 9,999: four digits of an id. */
const INSTANCE_NUMBERS = 10_000
const LEASE_MS = 60_000
const HEARTBEAT_MS = 10_000
/** An expired lease stays reserved for longer than clocks may differ and for longer than the second in an id. */
const GRACE_MS = 60_000
const TRIES_MAX = 50

/** The lease that this process holds. It ends by the wall clock, as it does for the other processes. */
type HeldLease = Stored<InstanceNumberLease> & { readonly nextId: () => string }

/**
 * Leases the 4-digit instance number that is part of each 18-digit id, and returns the source of these ids. Only one
 * process has a number at a time, so that two processes never make the same id (P1). Renews the lease until `stop`, and
 * releases it then. While the clock of this process is wrong, it neither leases nor makes ids: the leases of others would
 * look expired to it, or its own to them.
 */
export async function leaseInstanceNumber(leases: Collection<InstanceNumberLease>, clock_guard: ClockGuard) {
  const holder = randomHex(16)
  let held: HeldLease | undefined
  let is_stopped = false

  async function renewOrAcquire(): Promise<void> {
    if (!clock_guard.isTrusted()) return
    const renewed = held && (await renew(leases, held))
    if (held && renewed) {
      held = { ...renewed, nextId: held.nextId }
      return
    }
    const acquired = await acquire(leases, holder)
    held = { ...acquired, nextId: numericIds(acquired.instance_number) }
  }

  await renewOrAcquire()
  const heartbeat = every(HEARTBEAT_MS, renewOrAcquire, (error) =>
    log.warn({ error }, 'renewal of the instance number lease failed'),
  )

  return {
    /** Makes an 18-digit id; throws `Unavailable` without the lease. */
    next(): string {
      clock_guard.assertTrusted()
      if (is_stopped || held === undefined || now() >= held.lease_until)
        throw new Unavailable('the lease of the instance number has expired')
      return held.nextId()
    },
    async stop(): Promise<void> {
      is_stopped = true
      await heartbeat.stop()
      if (held === undefined || !clock_guard.isTrusted()) return
      const { instance_number, version } = held
      // The grace time still applies after the release, so that no other process makes an id of the present second.
      await leases
        .replace({ instance_number, holder, lease_until: now() }, version)
        .catch((error: unknown) => {
          log.warn({ error }, 'release of the instance number lease failed')
        })
    },
  }
}

/** Renews a lease. `undefined` when another process has taken the number. */
async function renew(
  leases: Collection<InstanceNumberLease>,
  { instance_number, holder, version }: HeldLease,
): Promise<Stored<InstanceNumberLease> | undefined> {
  try {
    return await leases.replace({ instance_number, holder, lease_until: leaseEnd() }, version)
  } catch (error) {
    if (error instanceof Conflict) return undefined
    throw error
  }
}

async function acquire(
  leases: Collection<InstanceNumberLease>,
  holder: string,
): Promise<Stored<InstanceNumberLease>> {
  for (let tries = 0; tries < TRIES_MAX; tries += 1) {
    const instance_number = Math.floor(randomFraction() * INSTANCE_NUMBERS)
    let is_free = false
    const lease = await upsert(leases, { instance_number }, (current) => {
      is_free = !current || current.lease_until.getTime() + GRACE_MS <= now().getTime()
      return is_free ? { instance_number, holder, lease_until: leaseEnd() } : undefined
    })
    // Comparing holders is not enough: after an ambiguous renewal an earlier lease of this process would be accepted,
    // which ends too early.
    if (lease && is_free) return lease
  }
  throw new Error(`no free instance number after ${TRIES_MAX} tries`)
}

function leaseEnd(): Date {
  return new Date(clock.now_ms() + LEASE_MS)
}
