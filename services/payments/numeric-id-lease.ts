import { Unavailable } from '#lib/contract/errors/unavailable.ts'
import { upsert } from '#lib/patterns/update.ts'
import { randomFraction, randomHex } from '#lib/platform/crypto/random.ts'
import { numericIds } from '#lib/platform/ids.ts'
import { Conflict } from '#lib/platform/store/errors.ts'
import type { Collection } from '#lib/platform/store/port.ts'
import { log } from '#lib/platform/telemetry/log.ts'
import { clock, every, now } from '#lib/platform/time.ts'

/** A number that one live process holds, so that the 18-digit ids of two processes never meet (P1). */
export interface Instance {
  readonly number: number
  readonly owner: string
  readonly lease_until: Date
}

/** Gives 18-digit ids while the process holds its number; throws `Unavailable` when it does not. */
export interface NumericIdSource {
  next(): string
  stop(): Promise<void>
}

const NUMBERS = 10_000
const LEASE_MS = 60_000
const HEARTBEAT_MS = 10_000
/** An expired lease is left alone for as long as clocks may differ, and for longer than one id's second. */
const GRACE_MS = 60_000
const TRIES_MAX = 50

/** Leases an instance number, keeps it, and gives it back at the end. */
export async function leaseNumericIds(instances: Collection<Instance>): Promise<NumericIdSource> {
  const owner = randomHex(16)
  let held_until_ms = clock.monotonic_ms() + LEASE_MS
  let { number, version } = await acquire(instances, owner)
  let next = numericIds(number)
  let stopped = false

  const renew = async (): Promise<void> => {
    const asked_at_ms = clock.monotonic_ms()
    try {
      const renewed = await instances.replace({ number, owner, lease_until: leaseEnd() }, version)
      version = renewed.version
    } catch (error) {
      if (!(error instanceof Conflict)) throw error
      const another = await acquire(instances, owner)
      number = another.number
      version = another.version
      next = numericIds(number)
    }
    held_until_ms = asked_at_ms + LEASE_MS
  }
  let renewing = Promise.resolve()
  const beat = (): Promise<void> => {
    renewing = renew()
    return renewing
  }
  const heartbeat = every(HEARTBEAT_MS, beat, (error) =>
    log.warn({ error }, 'the instance number was not renewed'),
  )

  return {
    next() {
      if (stopped || clock.monotonic_ms() >= held_until_ms)
        throw new Unavailable('the lease of the instance number has run out')
      return next()
    },
    async stop() {
      stopped = true
      heartbeat.cancel()
      await Promise.allSettled([renewing])
      // Given back with its grace still to run: an id of this very second must not be made again.
      await instances.replace({ number, owner, lease_until: now() }, version).catch((error: unknown) => {
        log.warn({ error }, 'the instance number was not given back')
      })
    },
  }
}

async function acquire(
  instances: Collection<Instance>,
  owner: string,
): Promise<{ number: number; version: number }> {
  for (let tries = 0; tries < TRIES_MAX; tries++) {
    const number = Math.floor(randomFraction() * NUMBERS)
    let is_free = false
    const lease = await upsert(instances, { number }, (current) => {
      is_free = !current || current.lease_until.getTime() + GRACE_MS <= now().getTime()
      return is_free ? { number, owner, lease_until: leaseEnd() } : undefined
    })
    // The owner alone would not do: an earlier lease of this process, whose renewal was ambiguous, ends too early.
    if (lease && is_free) return lease
  }
  throw new Error(`none of ${TRIES_MAX} instance numbers was free`)
}

function leaseEnd(): Date {
  return new Date(clock.now_ms() + LEASE_MS)
}
