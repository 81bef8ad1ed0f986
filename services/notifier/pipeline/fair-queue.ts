import type { TryKind } from '../domain/delivery.ts'
import type { OwnedDestination } from './owned-destination.ts'
import { merchantKeyOf, type SlotPool, type SlotScope, type Slots, type SlotUser } from './slots.ts'

interface FairQueueDeps {
  readonly slots: Pick<Slots, 'nextFreed'>
  /**
   * Begins the next attempt of a destination and kind of try. Returns the pool that lacks a slot for it, or `moved` when
   * nothing is due there any more, or its attempts count as others now. `freed` is the pool in which it has waited.
   */
  begin(owned: OwnedDestination, try_kind: TryKind, freed: SlotPool | undefined): 'began' | 'moved' | SlotPool
}

/** What takes part in a round robin: the due deliveries of a destination, or a group. */
type Entry = DueDestination | Group

interface EntryState {
  /** The merchant with its environment, see `merchantKeyOf`. */
  readonly merchant_key: string
  /** The group that it belongs to; absent for the group of a merchant. */
  readonly parent?: Group | undefined
  /** The pool in which it waits for a slot; absent while it takes part in the round robin. */
  waits_in?: SlotPool | undefined
}

/** The due deliveries of one kind of try at a destination. The destination has them in its queue. */
interface DueDestination extends EntryState {
  readonly parent: Group
  readonly owned: OwnedDestination
  readonly try_kind: TryKind
}

/**
 * Entries whose attempts take slots of the same pools, so that they wait for one together. The group of a merchant has
 * the groups of its hosts, and the group of a host has destinations.
 */
interface Group extends EntryState {
  /** Its name among all groups of the process. */
  readonly key: string
  /** The entries that do not wait for a slot. */
  readonly ready: RoundRobin<Entry>
  /** How many entries it has, with those that wait. */
  entry_count: number
}

/**
 * Creates the fair queue of a process: a round robin among merchants, among the hosts of each merchant, and among the
 * destinations of each host. Each round is one attempt: it costs one slot whatever it sends, so equal numbers are fair.
 * What needs a slot of a pool without one waits in that pool: a destination for a slot of its own, all destinations of a
 * host together for a slot of the host, and all of a merchant for a slot of the merchant or process. So an attempt costs the
 * same however many wait (N10).
 */
export function createFairQueue({ slots, begin }: FairQueueDeps) {
  const ready = createMerchantRoundRobin<Entry>()
  const waiting = createWaiting()
  const groups = createGroups()
  const entries = {
    first: new Map<OwnedDestination, DueDestination>(),
    retry: new Map<OwnedDestination, DueDestination>(),
  }

  /** The round robin in which the entry takes part while it does not wait. */
  const roundOf = ({ parent }: Entry): RoundRobin<Entry> => parent?.ready ?? ready

  /** Lets the entry take part, and its groups with it. */
  function enter(entry: Entry): void {
    roundOf(entry).add(entry)
    if (entry.parent !== undefined && entry.parent.waits_in === undefined) enter(entry.parent)
  }

  /** Takes the entry out, wherever it is. A group without another entry that is ready leaves too. */
  function leave(entry: Entry): void {
    if (entry.waits_in === undefined) roundOf(entry).remove(entry)
    else waiting.remove(entry, entry.waits_in)
    if (entry.parent?.ready.isEmpty()) leave(entry.parent)
  }

  /** Makes a destination wait for a slot of the pool, together with all that need a slot of that pool. */
  function wait(due: DueDestination, pool: SlotPool): void {
    const entry = entryIn(due, pool.scope)
    leave(entry)
    waiting.add(entry, pool)
  }

  function remove(owned: OwnedDestination, try_kind: TryKind): void {
    const due = entries[try_kind].get(owned)
    if (due === undefined) return
    entries[try_kind].delete(owned)
    leave(due)
    groups.removeEntry(due.parent)
  }

  /** Begins one attempt of the entry, unless none of its destinations can begin one. */
  function serveOne(entry: Entry, freed?: SlotPool): void {
    while (!isWaiting(entry)) {
      const due = nextDestination(entry)
      if (due === undefined) return
      const result = begin(due.owned, due.try_kind, freed)
      if (result === 'began') return
      if (result !== 'moved') wait(due, result)
      if (due === entry) return
    }
  }

  return {
    remove,
    /**
     * Adds the due deliveries of a destination to the group of those whose attempts count as the same. Returns whether they
     * were not there already.
     */
    add(owned: OwnedDestination, user: SlotUser): boolean {
      const { try_kind } = user
      const parent = groups.of(user)
      if (entries[try_kind].get(owned)?.parent === parent) return false
      remove(owned, try_kind)
      parent.entry_count += 1
      const due = { merchant_key: parent.merchant_key, parent, owned, try_kind }
      entries[try_kind].set(owned, due)
      enter(due)
      return true
    },
    /** Begins attempts until nothing is left that does not wait for a slot. */
    serve(): void {
      for (let pool = slots.nextFreed(); pool !== undefined; pool = slots.nextFreed()) {
        const entry = waiting.next(pool)
        if (entry === undefined) return
        waiting.remove(entry, pool)
        enter(entry)
        serveOne(entry, pool)
      }
      for (let entry = ready.next(); entry !== undefined; entry = ready.next()) serveOne(entry)
    },
  }
}

/** Keeps the entries that wait for a slot, by pool: merchants in round robin here too. */
function createWaiting() {
  const waiting = new Map<SlotPool, RoundRobin<Entry>>()
  return {
    add(entry: Entry, pool: SlotPool): void {
      const entries = waiting.get(pool) ?? createMerchantRoundRobin<Entry>()
      waiting.set(pool, entries)
      entries.add(entry)
      pool.is_waited_for = true
      entry.waits_in = pool
    },
    remove(entry: Entry, pool: SlotPool): void {
      const entries = waiting.get(pool)
      entries?.remove(entry)
      entry.waits_in = undefined
      if (!entries?.isEmpty()) return
      waiting.delete(pool)
      pool.is_waited_for = false
    },
    next: (pool: SlotPool): Entry | undefined => waiting.get(pool)?.next(),
  }
}

/** Keeps the groups that have entries. */
function createGroups() {
  const groups = new Map<string, Group>()

  function get(key: string, merchant_key: string, parent?: Group): Group {
    const existing = groups.get(key)
    if (existing !== undefined) return existing
    const created = { key, merchant_key, parent, ready: createRoundRobin<Entry>(), entry_count: 0 }
    groups.set(key, created)
    if (parent !== undefined) parent.entry_count += 1
    return created
  }
  function removeEntry(group: Group): void {
    group.entry_count -= 1
    if (group.entry_count > 0) return
    groups.delete(group.key)
    if (group.parent !== undefined) removeEntry(group.parent)
  }
  return {
    /** The group of the host in which the attempts of a user count as the same. */
    of(user: SlotUser): Group {
      const merchant_key = merchantKeyOf(user)
      const key = `${merchant_key} ${user.try_kind} ${user.health}`
      return get(`${key} ${user.host}`, merchant_key, get(key, merchant_key))
    },
    removeEntry,
  }
}

/** What waits for a slot of a scope on behalf of a destination: itself, or its group of a host or merchant. */
function entryIn(due: DueDestination, scope: SlotScope): Entry {
  if (scope === 'origin' || scope === 'endpoint') return due
  const { parent: of_host } = due
  return scope === 'host' ? of_host : (of_host.parent ?? of_host)
}

/** The destination of an entry that is next. */
function nextDestination(entry: Entry | undefined): DueDestination | undefined {
  return entry !== undefined && 'ready' in entry ? nextDestination(entry.ready.next()) : entry
}

function isWaiting({ waits_in, parent }: Entry): boolean {
  return waits_in !== undefined || (parent !== undefined && isWaiting(parent))
}

/** Entries that come one after another, again and again. Each is there once, in the order in which they were added. */
export interface RoundRobin<T> {
  /** Adds an entry at the end, unless it is there already. */
  add(entry: T): void
  remove(entry: T): void
  /** The entry in front, which goes to the end. `undefined` without entries. */
  next(): T | undefined
  isEmpty(): boolean
}

/** Creates an empty round robin. The cost of each call is independent of the number of entries. */
export function createRoundRobin<T>(): RoundRobin<T> {
  const entries = new Set<T>()
  // One iterator for many calls: a new one would pass all places of removed entries again.
  let iterator = entries.values()

  return {
    add: (entry) => void entries.add(entry),
    remove: (entry) => void entries.delete(entry),
    next() {
      if (entries.size === 0) return undefined
      let front = iterator.next()
      if (front.done) {
        iterator = entries.values()
        front = iterator.next()
      }
      if (front.done) return undefined
      entries.delete(front.value)
      entries.add(front.value)
      return front.value
    },
    isEmpty: () => entries.size === 0,
  }
}

/** Creates a round robin among merchants, and among the entries of each merchant. */
export function createMerchantRoundRobin<T extends { readonly merchant_key: string }>(): RoundRobin<T> {
  const merchants = createRoundRobin<RoundRobin<T>>()
  const by_merchant = new Map<string, RoundRobin<T>>()

  return {
    add(entry) {
      const { merchant_key } = entry
      const entries = by_merchant.get(merchant_key) ?? createRoundRobin<T>()
      by_merchant.set(merchant_key, entries)
      entries.add(entry)
      merchants.add(entries)
    },
    remove(entry) {
      const entries = by_merchant.get(entry.merchant_key)
      entries?.remove(entry)
      if (!entries?.isEmpty()) return
      by_merchant.delete(entry.merchant_key)
      merchants.remove(entries)
    },
    next: () => merchants.next()?.next(),
    isEmpty: () => by_merchant.size === 0,
  }
}
