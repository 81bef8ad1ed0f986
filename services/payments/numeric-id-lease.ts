import { Unavailable } from '#lib/contract/errors/unavailable.ts'
import { upsert } from '#lib/patterns/update.ts'
import { randomFraction, randomHex } from '#lib/platform/crypto/random.ts'
import { numericIds } from '#lib/platform/ids.ts'
import { Conflict } from '#lib/platform/store/errors.ts'
import type { Collection } from '#lib/platform/store/store.ts'
import { log } from '#lib/platform/telemetry/log.ts'
import { clock, every, now } from '#lib/platform/time.ts'
import type { NumericIdLease } from './store/numeric-id-leases.ts'

/** Makes 18-digit ids while the process has the lease of its number; throws `Unavailable` when it has not. */
export interface NumericIdSource {
  next(): string
  stop(): Promise<void>
}

const NUMBERS = 10_000
const LEASE_MS = 60_000
const HEARTBEAT_MS = 10_000
/** An expired lease stays reserved for longer than clocks may differ and for longer than the second in an id. */
const GRACE_MS = 60_000
const TRIES_MAX = 50

/** Leases a number for this process, renews the lease until `stop`, and releases it then (P1). */
export async function leaseNumericIds(leases: Collection<NumericIdLease>): Promise<NumericIdSource> {
  const owner = randomHex(16)
  let valid_until_ms = clock.monotonic_ms() + LEASE_MS
  let { number, version } = await acquire(leases, owner)
  let next = numericIds(number)
  let stopped = false

  const renew = async (): Promise<void> => {
    const started_at_ms = clock.monotonic_ms()
    try {
      const renewed = await leases.replace({ number, owner, lease_until: leaseEnd() }, version)
      version = renewed.version
    } catch (error) {
      if (!(error instanceof Conflict)) throw error
      const another = await acquire(leases, owner)
      number = another.number
      version = another.version
      next = numericIds(number)
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
    (error) => log.warn({ error }, 'renewal of the numeric id lease failed'),
  )

  return {
    next() {
      if (stopped || clock.monotonic_ms() >= valid_until_ms)
        throw new Unavailable('the numeric id lease has expired')
      return next()
    },
    async stop() {
      stopped = true
      heartbeat.cancel()
      await Promise.allSettled([renewing])
      // The grace time still applies after the release, so that no other process makes an id of the present second.
      await leases.replace({ number, owner, lease_until: now() }, version).catch((error: unknown) => {
        log.warn({ error }, 'release of the numeric id lease failed')
      })
    },
  }
}

async function acquire(
  leases: Collection<NumericIdLease>,
  owner: string,
): Promise<{ number: number; version: number }> {
  for (let tries = 0; tries < TRIES_MAX; tries++) {
    const number = Math.floor(randomFraction() * NUMBERS)
    let is_free = false
    const lease = await upsert(leases, { number }, (current) => {
      is_free = !current || current.lease_until.getTime() + GRACE_MS <= now().getTime()
      return is_free ? { number, owner, lease_until: leaseEnd() } : undefined
    })
    // Comparing owners is not enough: after an ambiguous renewal an earlier lease of this process would be accepted,
    // which ends too early.
    if (lease && is_free) return lease
  }
  throw new Error(`no free number for numeric ids after ${TRIES_MAX} tries`)
}

function leaseEnd(): Date {
  return new Date(clock.now_ms() + LEASE_MS)
}
