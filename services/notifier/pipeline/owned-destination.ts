import { clock } from '#lib/base/time.ts'
import type { Stored } from '#lib/store/store.ts'
import { type Breaker, breakerState } from '../domain/breaker.ts'
import { type Delivery, type DeliveryKey, TRY_KINDS, type TryKind } from '../domain/delivery.ts'
import { type Destination, hostOf } from '../domain/destination.ts'
import type { Health, SlotUser } from './slots.ts'

/** Shorter than the time until the first renewal, so that the lease of a destination that is used once is not renewed. */
const UNUSED_MS = 1_200

/** A destination that this process has leased, with what it needs to know to make the attempts. */
export interface OwnedDestination {
  readonly destination_key: string
  readonly merchant_id: string
  /** The lease token: the fence of every attempt that begins under this lease. */
  readonly token: string
  /** The document as it was last written under this lease. */
  stored: Stored<Destination>
  /** Until when this process may begin attempts, by the clock of the store. */
  leased_until_ms: number
  /** When the lease was taken or renewed, by the monotonic clock. */
  renewed_at_ms: number
  breaker: Breaker
  /** The time of asking for which a delivery was tried early. */
  early_asked_at: Date | undefined
  /** Whether the one probe of an open breaker is in progress. */
  is_probing: boolean
  /** Whether the last attempt took, or one in progress takes, as long as with a receiver that hangs. */
  is_slow: boolean
  /** False while the destination waits to be handed over: then it begins no attempts. */
  is_open: boolean
  /** When an attempt began last or another delivery came, by the monotonic clock. */
  used_at_ms: number
  /** The deliveries that are being stored for it. */
  storing: number
  in_progress: number
  /** How many of them take as long as a receiver that hangs. */
  slow_in_progress: number
  readonly queue: DueQueue
  /** Whether the store may have due deliveries of a kind of try that are not in the queue. */
  readonly has_more: Record<TryKind, boolean>
  /** Whether the store may have deliveries that wait for a secret, or until the breaker closes. */
  may_have_waiting: boolean
  /** Whether a read of due deliveries runs, and whether another must follow it. */
  refilling: 'no' | 'yes' | 'again'
}

/**
 * Makes the state of a destination that was just leased. `was_awake` says whether anything may wait there, which must be
 * read.
 */
export function newOwnedDestination(
  stored: Stored<Destination>,
  token: string,
  was_awake: boolean,
  leased_until_ms: number,
): OwnedDestination {
  return {
    destination_key: stored.destination_key,
    merchant_id: stored.merchant_id,
    token,
    stored,
    leased_until_ms,
    renewed_at_ms: clock.monotonic_ms(),
    breaker: stored.breaker,
    early_asked_at: undefined,
    is_probing: false,
    is_slow: false,
    is_open: true,
    used_at_ms: clock.monotonic_ms(),
    storing: 0,
    in_progress: 0,
    slow_in_progress: 0,
    queue: createDueQueue(),
    has_more: { first: was_awake, retry: was_awake },
    may_have_waiting: was_awake,
    refilling: 'no',
  }
}

/** What an attempt to the destination counts as. A sick one fails, hangs, or its breaker is not closed. */
function healthOf({ breaker, is_slow }: OwnedDestination): Health {
  if (is_slow || breaker.failures > 0) return 'sick'
  return breaker.has_succeeded ? 'healthy' : 'unproven'
}

/** What the next attempt of a delivery takes slots for. */
export function slotUserOf(
  owned: OwnedDestination,
  { merchant_id, environment, host, try_kind }: Omit<DueDelivery, 'delivery_id' | 'due_ms'>,
): SlotUser {
  const { destination_key } = owned
  return { merchant_id, environment, host, try_kind, destination_key, health: healthOf(owned) }
}

/** Whether the breaker refuses a try now (N5). It lets one probe through at a time. */
export function isRefused({ breaker, is_probing }: OwnedDestination, at: Date): boolean {
  const state = breakerState(breaker, at)
  return state === 'open' || (state === 'half_open' && is_probing)
}

/** Whether this process makes no attempt for the destination, and stores no delivery for it. */
export function isAtRest({ storing, in_progress }: OwnedDestination): boolean {
  return storing === 0 && in_progress === 0
}

/** Whether nothing was done for the destination for a while: it has no deliveries, or they only wait. */
export function isUnused(owned: OwnedDestination): boolean {
  const unused_ms = clock.monotonic_ms() - owned.used_at_ms
  return unused_ms >= UNUSED_MS && isAtRest(owned) && owned.refilling === 'no'
}

/** Whether nothing is to do for the destination in the near future. */
export function isIdle(owned: OwnedDestination): boolean {
  const is_empty = owned.queue.firstDueMs() === Number.POSITIVE_INFINITY
  return isUnused(owned) && is_empty && !owned.has_more.first && !owned.has_more.retry
}

/** A pending delivery as the queue keeps it; `undefined` for one that is not due at any time. */
export function toDue(delivery: Delivery): DueDelivery | undefined {
  const { merchant_id, environment, delivery_id, try_kind, due_at, url } = delivery
  if (try_kind === undefined || due_at === undefined) return undefined
  const key = { merchant_id: copyText(merchant_id), delivery_id: copyText(delivery_id) }
  return { ...key, environment, try_kind, host: hostOf(url), due_ms: due_at.getTime() }
}

/** A copy: a text of a decoded document can be a slice, which keeps all texts of the document in memory. */
function copyText(text: string): string {
  return Buffer.from(text).toString()
}

/** A delivery of the near future, as the process keeps it in memory. The document stays in the store. */
export interface DueDelivery extends DeliveryKey, Pick<Delivery, 'environment'> {
  readonly try_kind: TryKind
  /** The host of its URL, without the port. */
  readonly host: string
  /** When its next attempt is due, by the clock of the store. */
  readonly due_ms: number
}

/** The deliveries of one destination that a process keeps in memory. */
export type DueQueue = ReturnType<typeof createDueQueue>

/** The deliveries per kind of try that one destination keeps in memory. */
export const QUEUED_MAX = 128

/** Creates an empty queue: the deliveries by kind of try, the first due in front. */
export function createDueQueue() {
  const lanes: Readonly<Record<TryKind, DueDelivery[]>> = { first: [], retry: [] }
  const ids = new Set<string>()

  return {
    /** Adds a delivery, unless it is there already. Returns whether the queue has it now: false without room. */
    add(due: DueDelivery): boolean {
      if (ids.has(due.delivery_id)) return true
      const queue = lanes[due.try_kind]
      if (queue.length >= QUEUED_MAX) return false
      let at = queue.length
      while (at > 0 && (queue[at - 1]?.due_ms ?? 0) > due.due_ms) at -= 1
      queue.splice(at, 0, due)
      ids.add(due.delivery_id)
      return true
    },
    /** The first delivery of a kind of try if it is due. */
    head(try_kind: TryKind, at_ms: number): DueDelivery | undefined {
      const [due] = lanes[try_kind]
      return due !== undefined && due.due_ms <= at_ms ? due : undefined
    },
    remove(due: DueDelivery): void {
      const queue = lanes[due.try_kind]
      const at = queue.indexOf(due)
      if (at === -1) return
      queue.splice(at, 1)
      ids.delete(due.delivery_id)
    },
    /** When the first delivery of a kind of try, or of both, is due; infinity when there is none. */
    firstDueMs: (try_kind?: TryKind): number =>
      try_kind === undefined
        ? Math.min(firstOf(lanes.first), firstOf(lanes.retry))
        : firstOf(lanes[try_kind]),
    size: (try_kind: TryKind): number => lanes[try_kind].length,
    clear(): void {
      for (const try_kind of TRY_KINDS) lanes[try_kind].length = 0
      ids.clear()
    },
  }
}

function firstOf(queue: readonly DueDelivery[]): number {
  return queue[0]?.due_ms ?? Number.POSITIVE_INFINITY
}
