/** What keeps the callbacks of a merchant's test environment for developers who pull them (O20). */
export interface Listener {
  readonly merchant_id: string
  /** New for each listener, so that a cursor of an earlier one is recognized. */
  readonly listener_id: string
  /** The secret that signs its callbacks, sealed. */
  readonly sealed_secret: string
  /** A number that was used, at the last renewal: older deliveries may have expired since. */
  readonly last_number: number
  readonly created_at: Date
  /** 24 hours after the last connection, at least. The store deletes it then. */
  readonly expires_at: Date
}

/** One event of a listener. Its body is with the event, so that it is erased there. */
export interface ListenerDelivery {
  readonly listener_id: string
  /** Counts from 1, without gaps. */
  readonly number: number
  readonly merchant_id: string
  readonly delivery_id: string
  readonly event_key: string
  readonly event: string
  readonly created_at: Date
  readonly expires_at: Date
}

const HOUR_MS = 3_600_000

/** How long a listener is kept after a connection (O20). A connection renews it each 10 minutes, which are added. */
export const LISTENER_KEPT_MS = 24 * HOUR_MS + 10 * 60_000
/** When a connection renews it. */
export const LISTENER_RENEWED_MS = 24 * HOUR_MS
/** Longer than a listener lives without a connection. */
export const LISTENER_DELIVERY_KEPT_MS = 72 * HOUR_MS

/** The destination of the events of a listener. */
export function destinationOfListener(merchant_id: string): string {
  return `listener:${merchant_id}`
}

/** The owner of the sealed secret of a listener. */
export function ownerOfListenerSecret({ listener_id }: Pick<Listener, 'listener_id'>): string {
  return `listener:${listener_id}`
}

/** How far a reader is: the number of its last delivery, and the end of the id of that delivery unless it had expired, or never was. */
export interface ListenerPosition {
  readonly number: number
  readonly id_end?: string | undefined
}

/** Long enough that two deliveries which had the same number, before and after a database lost writes, differ. */
const ID_END = -12

/** The position after a delivery. */
export function positionAfter({ number, delivery_id }: ListenerDelivery): ListenerPosition {
  return { number, id_end: delivery_id.slice(ID_END) }
}

/** The cursor of a position of a listener. */
export function cursorOf(listener_id: string, { number, id_end }: ListenerPosition): string {
  return [listener_id, number, id_end].filter((part) => part !== undefined).join('.')
}

const CURSOR = /^([0-9a-f-]{36})\.(0|[1-9][0-9]{0,14})(?:\.([0-9a-f]{12}))?$/

/** The listener and the position in a cursor; `undefined` for another text. */
export function parseCursor(cursor: string): (ListenerPosition & { listener_id: string }) | undefined {
  const [, listener_id, number, id_end] = CURSOR.exec(cursor) ?? []
  return listener_id === undefined ? undefined : { listener_id, number: Number(number), id_end }
}

/** Whether a reader at a position goes on at the deliveries that begin with this one: it was read last, or is the next. */
export function goesOnAt(after: ListenerPosition, first: ListenerDelivery): boolean {
  if (first.number !== after.number) return first.number <= after.number + 1
  return after.id_end === undefined || after.id_end === positionAfter(first).id_end
}
