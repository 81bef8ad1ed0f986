import type { DeliverySelection } from './delivery-filter.ts'

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
