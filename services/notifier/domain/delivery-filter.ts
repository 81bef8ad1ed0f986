import { ENVIRONMENTS, type Environment } from '#lib/contract/environment.ts'
import { PAYMENT_EVENTS, SUPPORT_EVENTS } from '#lib/contract/events.ts'
import { DELIVERY_STATUSES, type Delivery, type DeliveryStatus } from './delivery.ts'
import { TEST_EVENT } from './event.ts'

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

type FilterField = 'resource_id' | 'endpoint_id' | 'event' | 'status'

/** A range of an index: the values that it fixes. In all of them the time of creation and the id follow. */
interface FilterRange {
  readonly index: string
  readonly fixed: Readonly<Record<string, string>>
}

/** Every event that a delivery can have. */
const EVENTS: readonly string[] = [...PAYMENT_EVENTS, ...SUPPORT_EVENTS, TEST_EVENT]

/**
 * Plans how a filter is read: from the ranges of one index, whose deliveries are newest last in each. `others` are the fields that no
 * index compares: a list refuses them, a replay reads past what does not match. A resource and an endpoint have one environment.
 */
export function planFilter(filter: DeliveryFilter): {
  readonly ranges: readonly FilterRange[]
  readonly others: readonly FilterField[]
} {
  const { merchant_id, environment, resource_id, endpoint_id, event, status } = filter
  const others = (...fields: readonly FilterField[]) => fields.filter((field) => filter[field] !== undefined)
  if (resource_id !== undefined)
    return {
      ranges: [{ index: 'by_resource', fixed: { merchant_id, resource_id } }],
      others: others('status', 'endpoint_id', 'event'),
    }
  const events = event === undefined ? EVENTS : [event]
  if (endpoint_id !== undefined) {
    // Statuses come first, and pending before the others: what is delivered meanwhile is read twice rather than not at all.
    const statuses = status === undefined ? DELIVERY_STATUSES : [status]
    const ranges = statuses.flatMap((of_status) =>
      events.map((of_event) => ({
        index: 'by_endpoint',
        fixed: { merchant_id, endpoint_id, event: of_event, status: of_status },
      })),
    )
    return { ranges, others: [] }
  }
  const environments = environment === undefined ? ENVIRONMENTS.names : [environment]
  const inEach = (index: string, values: Readonly<Record<string, string>>): readonly FilterRange[] =>
    environments.map((one) => ({ index, fixed: { merchant_id, environment: one, ...values } }))
  if (status !== undefined)
    return { ranges: events.flatMap((one) => inEach('by_status', { status, event: one })), others: [] }
  return event === undefined
    ? { ranges: inEach('by_environment', {}), others: [] }
    : { ranges: inEach('by_event', { event }), others: [] }
}

/** Whether a delivery that was read by the plan is selected. */
export function isSelected(delivery: Delivery, filter: DeliveryFilter): boolean {
  return (['environment', 'resource_id', 'endpoint_id', 'event', 'status'] as const).every(
    (field) => filter[field] === undefined || delivery[field] === filter[field],
  )
}

/** A request to queue all dead deliveries that a filter selects, and its progress. */
export interface Replay extends DeliverySelection {
  readonly replay_id: string
  /** Of the request, to tell its repetition from another one under its `operation_id` (O12). Absent without an `operation_id`. */
  readonly payload_hash?: string
  readonly created_to: Date
  /** Counts the deliveries and queues none. */
  readonly is_dry_run: boolean
  readonly matched: number
  readonly queued: number
  /** The matched ones that stayed dead, because the breaker of their destination was open. */
  readonly skipped?: number
  /** Queues also into open breakers. */
  readonly is_anyway?: boolean
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
