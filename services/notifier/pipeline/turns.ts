import type { TryKind } from '../domain/delivery.ts'
import type { OwnedDestination } from './owned-destination.ts'
import { createMerchantRing, createRing, type Ring } from './ring.ts'
import { merchantKeyOf, type SlotPool, type SlotScope, type Slots, type SlotUser } from './slots.ts'
import type { DueLane, TurnGroup, TurnTaker } from './turn-taker.ts'

/** What the turns need. */
export interface TurnsDeps {
  readonly slots: Pick<Slots, 'nextFreed'>
  /**
   * Begins one attempt. Returns the pool that lacks a slot for it, or `left` when the try_kind has left its place, because
   * nothing of it is due there. `freed` is the pool in which the try_kind has waited for this turn.
   */
  begin(owned: OwnedDestination, try_kind: TryKind, freed: SlotPool | undefined): 'began' | 'left' | SlotPool
}

/** The order in which the due deliveries of a process get their slots. */
export interface Turns {
  /** Puts a try_kind in its place, by what its next attempt counts as. Returns whether it was not there already. */
  place(owned: OwnedDestination, user: SlotUser): boolean
  remove(owned: OwnedDestination, try_kind: TryKind): void
  /** Gives turns until each try_kind is empty or waits for a slot. */
  take(): void
}

/**
 * Creates the turns of a process. Merchants take turns, then the hosts of each merchant, then the lanes of each host. A turn
 * is one attempt: it costs one slot whatever it sends, so equal turns are fair. What needs a slot of a pool without one waits
 * in that pool: a try_kind for a slot of its destination, all lanes of a host together for one of the host, and all of a
 * merchant for one of the merchant or process. So a turn costs the same however many wait (N10).
 */
export function createTurns({ slots, begin }: TurnsDeps): Turns {
  const ready = createMerchantRing<TurnTaker>()
  const groups = createGroups()
  const due_lanes = {
    first: new Map<OwnedDestination, DueLane>(),
    retry: new Map<OwnedDestination, DueLane>(),
  }

  /** The ring in which the taker takes its turns. */
  const ringOf = ({ parent }: TurnTaker): Ring<TurnTaker> => parent?.ready ?? ready

  /** Lets the taker take turns, and its groups with it. */
  function enter(taker: TurnTaker): void {
    ringOf(taker).add(taker)
    if (taker.parent !== undefined && taker.parent.waits_in === undefined) enter(taker.parent)
  }

  /** Ends the turns or the wait of the taker. A group that has no other member with a turn leaves too. */
  function leave(taker: TurnTaker): void {
    const ring = taker.waits_in ?? ringOf(taker)
    ring.remove(taker)
    taker.waits_in = undefined
    if (taker.parent?.ready.isEmpty()) leave(taker.parent)
  }

  function remove(owned: OwnedDestination, try_kind: TryKind): void {
    const due_lane = due_lanes[try_kind].get(owned)
    if (due_lane === undefined) return
    due_lanes[try_kind].delete(owned)
    leave(due_lane)
    groups.removeMember(due_lane.parent)
  }

  /** The try_kind whose turn it is in a group. */
  function nextLane(taker: TurnTaker | undefined): DueLane | undefined {
    return taker !== undefined && 'ready' in taker ? nextLane(taker.ready.next()) : taker
  }

  function takeTurn(taker: TurnTaker, freed?: SlotPool): void {
    while (!isWaiting(taker)) {
      const due_lane = nextLane(taker)
      if (due_lane === undefined) return
      const result = begin(due_lane.owned, due_lane.try_kind, freed)
      if (result === 'began') return
      if (result !== 'left') wait(due_lane, result)
      if (due_lane === taker) return
    }
  }

  /** Makes a try_kind wait for a slot of the pool, together with all lanes that need a slot of that pool. */
  function wait(due_lane: DueLane, pool: SlotPool): void {
    const taker = takerIn(due_lane, pool.scope)
    leave(taker)
    pool.waiting ??= createMerchantRing()
    pool.waiting.add(taker)
    taker.waits_in = pool.waiting
  }

  return {
    remove,
    place(owned, user) {
      const { try_kind } = user
      const parent = groups.of(user)
      if (due_lanes[try_kind].get(owned)?.parent === parent) return false
      remove(owned, try_kind)
      parent.member_count += 1
      const due_lane = { merchant_key: parent.merchant_key, parent, owned, try_kind }
      due_lanes[try_kind].set(owned, due_lane)
      enter(due_lane)
      return true
    },
    take() {
      for (let pool = slots.nextFreed(); pool !== undefined; pool = slots.nextFreed()) {
        const taker = pool.waiting?.next()
        if (taker === undefined) return
        pool.waiting?.remove(taker)
        taker.waits_in = undefined
        enter(taker)
        takeTurn(taker, pool)
      }
      for (let taker = ready.next(); taker !== undefined; taker = ready.next()) takeTurn(taker)
    },
  }
}

/** Keeps the groups that have members. */
function createGroups() {
  const groups = new Map<string, TurnGroup>()

  function get(key: string, merchant_key: string, parent?: TurnGroup): TurnGroup {
    const existing = groups.get(key)
    if (existing !== undefined) return existing
    const created = { key, merchant_key, parent, ready: createRing<TurnTaker>(), member_count: 0 }
    groups.set(key, created)
    if (parent !== undefined) parent.member_count += 1
    return created
  }
  function removeMember(group: TurnGroup): void {
    group.member_count -= 1
    if (group.member_count > 0) return
    groups.delete(group.key)
    if (group.parent !== undefined) removeMember(group.parent)
  }
  return {
    /** The group of the host in which the attempts of a user count as the same. */
    of(user: SlotUser): TurnGroup {
      const merchant_key = merchantKeyOf(user)
      const key = `${merchant_key} ${user.try_kind} ${user.health}`
      return get(`${key} ${user.host}`, merchant_key, get(key, merchant_key))
    },
    removeMember,
  }
}

/** What waits for a slot of a scope on behalf of a try_kind: the try_kind itself, or its group of a host or merchant. */
function takerIn(due_lane: DueLane, scope: SlotScope): TurnTaker {
  if (scope === 'destination') return due_lane
  const { parent: of_host } = due_lane
  return scope === 'host' ? of_host : (of_host.parent ?? of_host)
}

function isWaiting({ waits_in, parent }: TurnTaker): boolean {
  return waits_in !== undefined || (parent !== undefined && isWaiting(parent))
}
