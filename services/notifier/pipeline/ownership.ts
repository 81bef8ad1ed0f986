import type { ClockGuard } from '#lib/patterns/clock-guard.ts'
import { rankMembers } from '#lib/patterns/membership/membership.ts'
import type { DestinationKey, DestinationName } from '../domain/destination.ts'
import { ensureAwake, giveLeaseBack, type LeaseDeps, renewLease, takeLease } from './lease.ts'
import type { OwnedDestination } from './owned-destination.ts'

/** The destinations that a process has leased. */
export type Ownership = ReturnType<typeof createOwnership>

interface OwnershipDeps extends LeaseDeps {
  readonly clock_guard: ClockGuard
  readonly lease_limit: LeaseLimit
  /** The live notifiers, see `Membership`. */
  live(): readonly string[]
}

/** Creates the ownership of a process. All its times are by the clock of the store, which processes share. */
export function createOwnership(deps: OwnershipDeps) {
  const { destinations, clock_guard, self_address, live, lease_limit } = deps
  const owned_by_key = new Map<string, OwnedDestination>()
  const inSequence = createSequences()
  let is_closed = false

  const isOwned = (owned: OwnedDestination): boolean => owned_by_key.get(owned.destination_key) === owned
  const drop = (owned: OwnedDestination): void => {
    owned.is_open = false
    if (!isOwned(owned)) return
    owned_by_key.delete(owned.destination_key)
    lease_limit.remove(owned.merchant_id)
  }
  const rankOf = (destination_key: string): readonly string[] => rankMembers(destination_key, live())

  async function take(name: DestinationKey): Promise<OwnedDestination | undefined> {
    const existing = owned_by_key.get(name.destination_key)
    if (existing !== undefined || is_closed || !clock_guard.isTrusted()) return existing
    const owned = await takeLease(deps, name, lease_limit.hasRoom)
    if (owned === undefined) return undefined
    owned_by_key.set(name.destination_key, owned)
    lease_limit.add(owned.merchant_id)
    return owned
  }

  async function save(owned: OwnedDestination): Promise<void> {
    if (!clock_guard.isTrusted() || !isOwned(owned)) return
    if (!(await renewLease(deps, owned))) drop(owned)
  }

  async function giveBack(owned: OwnedDestination): Promise<void> {
    drop(owned)
    await giveLeaseBack(deps, owned, is_closed)
  }

  return {
    get: (destination_key: string): OwnedDestination | undefined => owned_by_key.get(destination_key),
    all: (): Iterable<OwnedDestination> => owned_by_key.values(),
    /** Leases a destination. `undefined` when another notifier has it, and while this process may lease no more. */
    take: (name: DestinationKey): Promise<OwnedDestination | undefined> =>
      inSequence(name.destination_key, () => take(name)),
    /** Whether an attempt may begin under the lease now. */
    hasLease: (owned: OwnedDestination): boolean =>
      owned.is_open && clock_guard.isTrusted() && deps.store_now_ms() < owned.leased_until_ms,
    /** Renews the lease and stores the breaker. Drops the destination when another notifier has it. */
    save: (owned: OwnedDestination): Promise<void> => inSequence(owned.destination_key, () => save(owned)),
    /** Drops the destination and gives its lease back. */
    giveBack: (owned: OwnedDestination): Promise<void> =>
      inSequence(owned.destination_key, () => giveBack(owned)),
    /** Makes sure that a notifier looks at the destination by `wake_at`. Returns the address of the one to wake. */
    async ensureAwake(name: DestinationName, wake_at: Date): Promise<string | undefined> {
      const owner = await ensureAwake(destinations, name, wake_at)
      return owner ?? rankOf(name.destination_key)[0]
    },
    /** Whether this notifier should own a destination: rendezvous hashing divides them among the live notifiers. */
    isPlacedHere(destination_key: string): boolean {
      const [first] = rankOf(destination_key)
      return first === undefined || first === self_address
    },
    /** Leases nothing more. */
    close(): void {
      is_closed = true
    },
  }
}

/** Makes the function that runs the steps of each key one after another: taking and giving back never overlap. */
function createSequences(): <T>(key: string, step: () => Promise<T>) => Promise<T> {
  const last_steps = new Map<string, Promise<unknown>>()
  return async (key, step) => {
    const before = last_steps.get(key)
    const own = before === undefined ? step() : before.then(step, step)
    last_steps.set(key, own)
    try {
      return await own
    } finally {
      if (last_steps.get(key) === own) last_steps.delete(key)
    }
  }
}

/** How many destinations a process leases, and how it divides them among merchants when they become scarce. */
export type LeaseLimit = ReturnType<typeof createLeaseLimit>

/** More destinations wait in the store until some of these are given back. */
const OWNED_MAX = 10_000

/** Up to this part of them each merchant leases what it needs; beyond it only merchants with less than their fair share. */
const FREE_PART = 0.75

/** From this part on, merchants with more than their fair share give back. It is larger, so that nothing goes to and fro. */
const FULL_PART = 0.9

/**
 * Creates the limit of a process. Each origin of a `webhook_url` is a destination, so a merchant can have any number of
 * them, such as a subdomain per payment. The fair share is counted for one merchant more than there are, so that a new merchant finds
 * room.
 */
export function createLeaseLimit(owned_max = OWNED_MAX) {
  const counts = new Map<string, number>()
  let total = 0
  const countOf = (merchant_id: string): number => counts.get(merchant_id) ?? 0
  const fairShare = (): number => Math.max(1, Math.floor(owned_max / (counts.size + 1)))

  return {
    /** Counts a destination of the merchant as leased. */
    add(merchant_id: string): void {
      counts.set(merchant_id, countOf(merchant_id) + 1)
      total += 1
    },
    /** Counts one less. */
    remove(merchant_id: string): void {
      const left = countOf(merchant_id) - 1
      if (left > 0) counts.set(merchant_id, left)
      else counts.delete(merchant_id)
      total -= 1
    },
    /** Whether one more destination may be leased: of any merchant, or of this one. */
    hasRoom(merchant_id?: string): boolean {
      if (total >= owned_max) return false
      return merchant_id === undefined || total < owned_max * FREE_PART || countOf(merchant_id) < fairShare()
    },
    /** Whether destinations of the merchant that only wait should be given back, to make room for other merchants. */
    isOverFairShare: (merchant_id: string): boolean =>
      total >= owned_max * FULL_PART && countOf(merchant_id) > fairShare(),
  }
}
