import type { TryKind } from '../domain/delivery.ts'
import type { OwnedDestination } from './owned-destination.ts'
import type { Ring } from './ring.ts'

/** What waits for turns and slots: one try_kind of a destination, or a group of them. */
export type TurnTaker = DueLane | TurnGroup

/** The due deliveries of one try_kind of a destination. They are in its queue. */
export interface DueLane extends Place {
  /** The group of its host: the lanes of its merchant and host whose attempts count as the same in every pool. */
  readonly parent: TurnGroup
  readonly owned: OwnedDestination
  readonly try_kind: TryKind
}

/**
 * Lanes whose attempts take slots of the same pools, so that they wait for one together. The group of a merchant has the
 * groups of its hosts as members, and the group of a host has lanes.
 */
export interface TurnGroup extends Place {
  /** Its name among all groups of the process. */
  readonly key: string
  /** The members that may take a turn. One that waits for a slot of its own is not among them. */
  readonly ready: Ring<TurnTaker>
  /** How many members it has, those that wait included. */
  member_count: number
}

/** Where a try_kind or group takes its turns or waits. */
interface Place {
  /** The merchant with its environment, see `merchantKeyOf`. */
  readonly merchant_key: string
  /** The group of which it is a member; absent for that of a merchant. */
  readonly parent?: TurnGroup | undefined
  /** The ring in which it waits for a slot; absent while it may take a turn. */
  waits_in?: Ring<TurnTaker> | undefined
}
