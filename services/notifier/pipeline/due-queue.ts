import type { Delivery, DeliveryKey, TryKind } from '../domain/delivery.ts'

/** A delivery of the near future, as the process keeps it in memory. The document stays in the store. */
export interface DueDelivery extends DeliveryKey, Pick<Delivery, 'environment'> {
  readonly try_kind: TryKind
  /** The host of its URL, without the port. */
  readonly host: string
  /** When its next attempt is due, by the clock of the store. */
  readonly due_ms: number
}

/** The deliveries of one destination that a process keeps in memory, by try_kind, the first due in front. */
export interface DueQueue {
  /** Adds a delivery, unless it is there already. Returns whether the queue has it now: false without room. */
  add(due: DueDelivery): boolean
  /** The first delivery of a try_kind if it is due. */
  head(try_kind: TryKind, at_ms: number): DueDelivery | undefined
  remove(due: DueDelivery): void
  /** When the first delivery of a try_kind, or of both, is due; infinity when there is none. */
  firstDueMs(try_kind?: TryKind): number
  size(try_kind: TryKind): number
  clear(): void
}

/** The deliveries per try_kind that one destination keeps in memory. */
export const QUEUED_MAX = 128

/** Both lanes, in the order in which they are read. */
export const TRY_KINDS: readonly TryKind[] = ['first', 'retry']

/** Creates an empty queue. */
export function createDueQueue(): DueQueue {
  const lanes: Readonly<Record<TryKind, DueDelivery[]>> = { first: [], retry: [] }
  const ids = new Set<string>()

  return {
    add(due) {
      if (ids.has(due.delivery_id)) return true
      const queue = lanes[due.try_kind]
      if (queue.length >= QUEUED_MAX) return false
      let at = queue.length
      while (at > 0 && (queue[at - 1]?.due_ms ?? 0) > due.due_ms) at -= 1
      queue.splice(at, 0, due)
      ids.add(due.delivery_id)
      return true
    },
    head(try_kind, at_ms) {
      const [due] = lanes[try_kind]
      return due !== undefined && due.due_ms <= at_ms ? due : undefined
    },
    remove(due) {
      const queue = lanes[due.try_kind]
      const at = queue.indexOf(due)
      if (at === -1) return
      queue.splice(at, 1)
      ids.delete(due.delivery_id)
    },
    firstDueMs: (try_kind) =>
      try_kind === undefined ? Math.min(firstOf(lanes.first), firstOf(lanes.retry)) : firstOf(lanes[try_kind]),
    size: (try_kind) => lanes[try_kind].length,
    clear() {
      for (const try_kind of TRY_KINDS) lanes[try_kind].length = 0
      ids.clear()
    },
  }
}

function firstOf(queue: readonly DueDelivery[]): number {
  return queue[0]?.due_ms ?? Number.POSITIVE_INFINITY
}
