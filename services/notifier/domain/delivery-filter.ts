import type { Environment } from '#lib/contract/environment.ts'
import type { Delivery, DeliveryStatus } from './delivery.ts'

/** Selects deliveries of one merchant. An absent field does not restrict the list. */
export interface DeliveryFilter {
  readonly merchant_id: string
  readonly environment?: Environment | undefined
  readonly event?: string | undefined
  readonly status?: DeliveryStatus | undefined
  readonly resource_id?: string | undefined
  readonly endpoint_id?: string | undefined
  /** The first instant of creation, and the first one after the last. */
  readonly created_from?: Date | undefined
  readonly created_to?: Date | undefined
}

/** A filter without a status: what a list of all statuses or a replay, whose deliveries are dead, selects. */
export type DeliverySelection = Omit<DeliveryFilter, 'status'>

/** The index of each field that can be compared. */
const INDEXES = {
  resource_id: 'by_resource',
  endpoint_id: 'by_endpoint',
  status: 'by_status',
  event: 'by_event',
  environment: 'by_environment',
} as const

type FilterField = keyof typeof INDEXES

/** The field that selects the fewest deliveries first. Nearly all are delivered, and few have any other status. */
const FIELDS_OF_DELIVERED: readonly FilterField[] = [
  'resource_id',
  'endpoint_id',
  'event',
  'environment',
  'status',
]
const FIELDS_OF_OTHERS: readonly FilterField[] = [
  'resource_id',
  'status',
  'endpoint_id',
  'event',
  'environment',
]

/**
 * Plans how a filter is read: from the index of the field that selects the fewest deliveries. `equals` are the fields of
 * the index before `created_at`; `matches` compares the other fields, and is absent when there is none.
 */
export function planFilter(filter: DeliveryFilter) {
  const { merchant_id, created_from: from, created_to: to } = filter
  const fields = filter.status === 'delivered' ? FIELDS_OF_DELIVERED : FIELDS_OF_OTHERS
  const [best, ...rest] = fields.filter((field) => filter[field] !== undefined)
  const equals: Readonly<Record<string, string>> =
    best === undefined ? { merchant_id } : { merchant_id, [best]: filter[best] ?? '' }
  const matches = (delivery: Delivery): boolean => rest.every((field) => delivery[field] === filter[field])
  return {
    index: best === undefined ? 'by_created' : INDEXES[best],
    equals,
    range: { equals: Object.values(equals), from, to },
    matches: rest.length > 0 ? matches : undefined,
  }
}

/** A request to queue all dead deliveries that a filter selects, and its progress. */
export interface Replay extends DeliverySelection {
  readonly replay_id: string
  readonly created_to: Date
  /** Counts the deliveries and queues none. */
  readonly is_dry_run: boolean
  readonly matched: number
  readonly queued: number
  /** The last delivery that was looked at, in the order of creation. */
  readonly position?: { readonly created_at: Date; readonly delivery_id: string }
  /** The destinations of the batch in progress. A notifier that goes on wakes them: its deliveries may be queued already. */
  readonly destination_keys?: readonly string[] | undefined
  readonly created_at: Date
  /** Absent while the replay goes on. */
  readonly ended_at?: Date
  /** While the replay goes on: when another notifier continues it, because its own has crashed. */
  readonly wake_at?: Date | undefined
  readonly kept_until: Date
}
