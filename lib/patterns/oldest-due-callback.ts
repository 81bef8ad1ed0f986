import { gauge } from '#lib/telemetry/metrics.ts'

/**
 * How long the longest-waiting callback has been due: as a delivery of the notifier, or as an event that the notifier has not
 * confirmed yet. Both have one name, because a value of 0 must mean that no callback waits anywhere.
 */
export const oldest_due_callback = gauge(
  'multihub_delivery_oldest_due_seconds',
  'How long the longest-waiting callback has been due: in `deliveries`, at destinations of this process and at those without an owner; in other documents, as an event without a receipt.',
  ['waits_in'],
)
