import type { Environment } from '#lib/contract/environment.ts'
import type { FailureReason } from '#lib/http/http-failure.ts'
import type { DoneOperation } from '#lib/patterns/idempotency/done-operations.ts'
import type { DeliveryTarget } from './destination.ts'
import type { StoredEvent } from './event.ts'

/**
 * The statuses of a delivery. A `dead` one has used up its first try and all its retries (N6). A `blocked` one waits for
 * the first secret of its endpoint (N7).
 */
export const DELIVERY_STATUSES = ['pending', 'delivered', 'dead', 'blocked'] as const

/** The status of a delivery. */
export type DeliveryStatus = (typeof DELIVERY_STATUSES)[number]

/**
 * What keeps a delivery from its receiver: its last try failed and another one follows, it waits for a breaker or a secret, or it
 * is dead and only a replay sends it again (O8).
 */
export const TROUBLES = ['failing', 'held', 'dead'] as const

/** What keeps a delivery from its receiver. */
export type Trouble = (typeof TROUBLES)[number]

/** The kinds of tries, in the order in which they are read. They wait in separate queues, so that neither delays the other. */
export const TRY_KINDS = ['first', 'retry'] as const

/** A kind of try. */
export type TryKind = (typeof TRY_KINDS)[number]

/**
 * Why an attempt failed: there was no response, its HTTP status is not 2xx, or nothing was sent, because the URL breaks
 * the rules (N9), the breaker of the destination was open (N5), the event is no longer stored, its body is too large
 * (N4), or every process that made the attempt crashed.
 */
export type AttemptFailure =
  | FailureReason
  | 'http_status'
  | 'refused_url'
  | 'breaker_open'
  | 'event_expired'
  | 'payload_too_large'
  | 'interrupted'

/** One attempt that has ended, as the operator sees it. */
export interface AttemptRecord {
  /** Counts all attempts of the delivery from 1. */
  readonly number: number
  readonly started_at: Date
  readonly duration_ms: number
  readonly http_status?: number | undefined
  /**
   * The first 4 KiB of the response body. Any bytes: the receiver chose them, so they may identify a person and are sealed
   * (O11).
   */
  readonly response_start?: Uint8Array | undefined
  /** Absent after a success. */
  readonly failure?: AttemptFailure | undefined
}

/** The attempt in progress. It is stored before its request leaves, so that a crash cannot hide it. */
interface AttemptInProgress {
  readonly number: number
  readonly started_at: Date
  /** The lease token of the process that makes the attempt. Only the holder of this token may record its result. */
  readonly fence: string
  /** How often this attempt was begun again, because the process that made it crashed or lost its lease. */
  readonly reclaims: number
}

/** One event for one destination, with its attempts so far. */
export interface Delivery extends DeliveryTarget {
  readonly merchant_id: string
  readonly environment: Environment
  readonly event_key: string
  readonly event: string
  /** The internal id of what the event is about: the `payment_id` of a payment. */
  readonly resource_id: string
  readonly status: DeliveryStatus
  /** While `pending`: the kind of its next try, and when that is due. */
  readonly try_kind?: TryKind | undefined
  readonly due_at?: Date | undefined
  readonly attempt?: AttemptInProgress | undefined
  /** The newest attempts that have ended, oldest first. */
  readonly attempts: readonly AttemptRecord[]
  /** The tries that count for the retry formula: those since the delivery was last queued (N2). */
  readonly tries: number
  /**
   * Since when the delivery waits to be queued again: a `blocked` one for the secret of its endpoint, a `dead` one until the
   * breaker that cost it a try closes.
   */
  readonly waits_since?: Date | undefined
  /** What keeps it from its receiver, and since when: absent unless something does, so that the index of it stays small. */
  readonly trouble?: Trouble | undefined
  readonly trouble_since?: Date | undefined
  /** When what it says was erased (O11). It ended then, and cannot be replayed. */
  readonly erased_at?: Date | undefined
  /** Set while it is the probe of its breaker: if the probe fails, it waits again. */
  readonly is_probe?: true | undefined
  /** The last replays by the operator, the newest last: a repetition queues nothing again (O12). */
  readonly replays?: readonly DoneOperation[]
  readonly created_at: Date
  /** When the store deletes it, together with its event. */
  readonly kept_until: Date
  /** The trace of its event, if that is recorded: all attempts belong to it. */
  readonly traceparent?: string
}

/** The key of a delivery. */
export type DeliveryKey = Pick<Delivery, 'merchant_id' | 'delivery_id'>

/** The key under which a delivery is stored. */
export function deliveryKeyOf({ merchant_id, delivery_id }: DeliveryKey): DeliveryKey {
  return { merchant_id, delivery_id }
}

/**
 * The delivery after what its callback said and its receivers answered was erased (O11). One that waits for a try is dead, and the
 * result of a try in progress is dropped. Pure.
 */
export function eraseDelivery<D extends Delivery>(delivery: D, erased_at: Date): D {
  const { status, attempts } = delivery
  return {
    ...delivery,
    trouble: undefined,
    trouble_since: undefined,
    status: status === 'delivered' ? status : 'dead',
    attempt: undefined,
    attempts: attempts.map(({ response_start: _erased, ...attempt }) => attempt),
    try_kind: undefined,
    due_at: undefined,
    waits_since: undefined,
    is_probe: undefined,
    erased_at,
  }
}

/** The delivery with what keeps it from its receiver now, and since when, after its status has changed. Pure. */
export function withTrouble<D extends Delivery>(changed: D, at: Date): D {
  const trouble = troubleOf(changed)
  if (trouble === changed.trouble) return changed
  return { ...changed, trouble, trouble_since: trouble && at }
}

function troubleOf({ status, waits_since, attempts, erased_at }: Delivery): Trouble | undefined {
  if (status === 'delivered' || erased_at !== undefined) return undefined
  if (waits_since !== undefined) return 'held'
  if (status === 'dead') return 'dead'
  return attempts.length > 0 ? 'failing' : undefined
}

/** Where the beginning of a response belongs, for its seal. */
export function placeOfResponse({ delivery_id }: Pick<Delivery, 'delivery_id'>): string {
  return `response:${delivery_id}`
}

/** A delivery of a stored event that waits for its first try. `created_at` is by the clock of the store. */
export function newDelivery(
  target: DeliveryTarget,
  { merchant_id, environment, event_key, event, resource_id, kept_until }: StoredEvent,
  created_at: Date,
): Delivery {
  return {
    ...target,
    merchant_id,
    environment,
    resource_id,
    event_key,
    event,
    status: 'pending',
    try_kind: 'first',
    due_at: created_at,
    attempts: [],
    tries: 0,
    created_at,
    kept_until,
  }
}
