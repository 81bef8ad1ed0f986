import { Unavailable } from '#lib/contract/errors/unavailable.ts'
import { upsert } from '#lib/patterns/update.ts'
import { randomFraction, randomHex } from '#lib/platform/crypto/random.ts'
import { numericIds } from '#lib/platform/ids.ts'
import { Conflict } from '#lib/platform/store/errors.ts'
import type { Collection } from '#lib/platform/store/store.ts'
import { log } from '#lib/platform/telemetry/log.ts'
import { clock, every, now } from '#lib/platform/time.ts'
import type { InstanceNumberLease } from '../store/instance-number-leases.ts'

/** Makes 18-digit ids while the process has the lease of its instance number; throws `Unavailable` otherwise. */
export interface NumericIdSource {
  next(): string
  stop(): Promise<void>
}

/** The instance numbers are 0 to 9,999: four digits of an id. */
const INSTANCE_NUMBERS = 10_000
const LEASE_MS = 60_000
const HEARTBEAT_MS = 10_000
/** An expired lease stays reserved for longer than clocks may differ and for longer than the second in an id. */
const GRACE_MS = 60_000
const TRIES_MAX = 50

/**
 * Leases the 4-digit instance number that is part of each 18-digit id, and returns the source of these ids. Only one
 * process has a number at a time, so that two processes never make the same id (P1). Renews the lease until `stop`, and
 * releases it then.
 */
export async function leaseInstanceNumber(leases: Collection<InstanceNumberLease>): Promise<NumericIdSource> {
  const holder = randomHex(16)
  let valid_until_ms = clock.monotonic_ms() + LEASE_MS
  let { instance_number, version } = await acquire(leases, holder)
  let next = numericIds(instance_number)
  let stopped = false

  const renew = async (): Promise<void> => {
    const started_at_ms = clock.monotonic_ms()
    try {
      const renewed = await leases.replace({ instance_number, holder, lease_until: leaseEnd() }, version)
      version = renewed.version
    } catch (error) {
      if (!(error instanceof Conflict)) throw error
      const another = await acquire(leases, holder)
      instance_number = another.instance_number
      version = another.version
      next = numericIds(instance_number)
    }
    valid_until_ms = started_at_ms + LEASE_MS
  }
  let renewing = Promise.resolve()
  const heartbeat = every(
    HEARTBEAT_MS,
    () => {
      renewing = renew()
      return renewing
    },
    (error) => log.warn({ error }, 'renewal of the instance number lease failed'),
  )

  return {
    next() {
      if (stopped || clock.monotonic_ms() >= valid_until_ms)
        throw new Unavailable('the lease of the instance number has expired')
      return next()
    },
    async stop() {
      stopped = true
      heartbeat.cancel()
      await Promise.allSettled([renewing])
      // The grace time still applies after the release, so that no other process makes an id of the present second.
      await leases
        .replace({ instance_number, holder, lease_until: now() }, version)
        .catch((error: unknown) => {
          log.warn({ error }, 'release of the instance number lease failed')
        })
    },
  }
}

async function acquire(
  leases: Collection<InstanceNumberLease>,
  holder: string,
): Promise<{ instance_number: number; version: number }> {
  for (let tries = 0; tries < TRIES_MAX; tries++) {
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
