import type { ClockGuard } from '#lib/patterns/clock-guard.ts'
import { rankMembers } from '#lib/patterns/membership/rank-members.ts'
import type { DestinationName } from '../domain/destination.ts'
import type { Destinations } from '../store/destinations.ts'
import { ensureAwake } from './ensure-awake.ts'
import { giveLeaseBack, type LeaseDeps, renewLease, takeLease } from './lease.ts'
import type { OwnedDestination } from './owned-destination.ts'
import type { Shares } from './shares.ts'

/** The destinations that a process has leased. */
export interface Ownership {
  get(destination_key: string): OwnedDestination | undefined
  all(): Iterable<OwnedDestination>
  /** Leases a destination. `undefined` when another notifier has it, and while this process may lease no more. */
  take(name: DestinationName): Promise<OwnedDestination | undefined>
  /** Whether an attempt may begin under the lease now. */
  hasLease(owned: OwnedDestination): boolean
  /** Renews the lease and stores the breaker. Drops the destination when another notifier has it. */
  save(owned: OwnedDestination): Promise<void>
  /** Drops the destination and gives its lease back. */
  giveBack(owned: OwnedDestination): Promise<void>
  /** Makes sure that a notifier looks at the destination by `wake_at`. Returns the address of the one to wake. */
  ensureAwake(name: DestinationName, wake_at: Date): Promise<string | undefined>
  /** Whether this notifier should own a destination: rendezvous hashing divides them among the live notifiers. */
  isPlacedHere(destination_key: string): boolean
  /** Leases nothing more. */
  close(): void
}

/** What the ownership of a process needs. */
export interface OwnershipDeps extends Omit<LeaseDeps, 'destinations'> {
  readonly destinations: Destinations
  readonly clock_guard: ClockGuard
  readonly shares: Shares
  /** The live notifiers, see `Membership`. */
  live(): readonly string[]
}

/** Creates the ownership of a process. All its times are those of the clock of the store, which processes share. */
export function createOwnership(deps: OwnershipDeps): Ownership {
  const { destinations, clock_guard, self_address, live, shares } = deps
  const owned_by_key = new Map<string, OwnedDestination>()
  const uncount = new Map<OwnedDestination, () => void>()
  const inSequence = createSequences()
  let is_closed = false

  const isOwned = (owned: OwnedDestination): boolean => owned_by_key.get(owned.destination_key) === owned
  const drop = (owned: OwnedDestination): void => {
    owned.is_open = false
    if (isOwned(owned)) owned_by_key.delete(owned.destination_key)
    uncount.get(owned)?.()
    uncount.delete(owned)
  }
  const rankOf = (destination_key: string): readonly string[] => rankMembers(destination_key, live())

  async function take(name: DestinationName): Promise<OwnedDestination | undefined> {
    const existing = owned_by_key.get(name.destination_key)
    if (existing !== undefined || is_closed || !clock_guard.isTrusted()) return existing
    const owned = await takeLease(deps, name, shares.hasRoom)
    if (owned === undefined) return undefined
    owned_by_key.set(name.destination_key, owned)
    uncount.set(owned, shares.add(owned.merchant_id))
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
    get: (destination_key) => owned_by_key.get(destination_key),
    all: () => owned_by_key.values(),
    take: (name) => inSequence(name.destination_key, () => take(name)),
    hasLease: (owned) =>
      owned.is_open && clock_guard.isTrusted() && deps.store_now_ms() < owned.leased_until_ms,
    save: (owned) => inSequence(owned.destination_key, () => save(owned)),
    giveBack: (owned) => inSequence(owned.destination_key, () => giveBack(owned)),
    async ensureAwake(name, wake_at) {
      const owner = await ensureAwake(destinations, name, wake_at)
      return owner ?? rankOf(name.destination_key)[0]
    },
    isPlacedHere(destination_key) {
      const [first] = rankOf(destination_key)
      return first === undefined || first === self_address
    },
    close() {
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
