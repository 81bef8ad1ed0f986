import type { Attempt, Delivery } from '#gen/multihub/notifier/v1/delivery_pb.ts'
import type { PaymentEvent } from '#gen/multihub/payments/v1/payment_explanation_service_pb.ts'
import { dateOf, hostOf, joined, ORDER, type TimelineRow } from './timeline-row.ts'

/**
 * The rows of the events of a payment and of what belongs to it, and of every try to deliver them. An event is in both lists,
 * or in one: support's events are known by their deliveries only, and an event without a receiver has none. Pure.
 */
export function callbackRows(
  events: readonly PaymentEvent[],
  deliveries: readonly Delivery[],
): TimelineRow[] {
  const by_key = Map.groupBy(deliveries, ({ eventKey }) => eventKey)
  const of_payment = new Set(events.map(({ eventKey }) => eventKey))
  const others = [...by_key].filter(([key]) => !of_payment.has(key))
  return [
    ...events.map(({ eventKey, event, createTime, published }) =>
      eventRow(eventKey, event, dateOf(createTime), by_key.get(eventKey) ?? [], published),
    ),
    ...others.map(([key, sent]) => {
      const first = sent.reduce((a, b) => (dateOf(a.createTime) <= dateOf(b.createTime) ? a : b))
      return eventRow(key, first.event, dateOf(first.createTime), sent, true)
    }),
    ...deliveries.flatMap((delivery) => delivery.attempts.map((attempt) => tryRow(delivery, attempt))),
  ]
}

function eventRow(
  event_key: string,
  event: string,
  time: Date,
  deliveries: readonly Delivery[],
  is_published: boolean,
): TimelineRow {
  const hosts = [...new Set(deliveries.map(({ url }) => hostOf(url)))]
  const where =
    hosts.length > 0
      ? `goes to ${hosts.join(', ')}`
      : is_published
        ? 'has no endpoint on record; listeners are not shown'
        : 'waits to be sent'
  return {
    key: `event:${event_key}`,
    time,
    kind: 'event',
    order: ORDER.event,
    title: `Event ${event}${factOf(event_key, event)} ${where}`,
    refs: deliveries.map(({ deliveryId }) => ({ kind: 'delivery', id: deliveryId })),
    data: { event_key, event, receivers: deliveries.length },
  }
}

/** What tells an event of support apart from the others of its name: the key ends with it, such as `:approved`. */
function factOf(event_key: string, event: string): string {
  const [, fact = ''] = event_key.split(`:${event}:`)
  return /^[a-z_]+$/.test(fact) ? ` (${fact})` : ''
}

function tryRow(delivery: Delivery, attempt: Attempt): TimelineRow {
  const { deliveryId, event, url } = delivery
  const { number, httpStatus, failure, durationMs } = attempt
  const time = dateOf(attempt.startTime)
  const result = failure === '' ? 'delivered' : 'failed'
  const facts = joined([
    httpStatus > 0 && `HTTP ${httpStatus}`,
    failure !== '' && failure !== 'http_status' && failure,
  ])
  return {
    key: `try:${deliveryId}:${number}`,
    time,
    kind: 'delivery',
    order: ORDER.delivery,
    title: `Callback ${event} to ${hostOf(url)}, try ${number}: ${result}${facts === '' ? '' : ` (${facts})`} after ${durationMs} ms`,
    refs: [{ kind: 'delivery', id: deliveryId }],
    data: {
      delivery_id: deliveryId,
      event,
      url,
      number,
      http_status: httpStatus === 0 ? undefined : httpStatus,
      failure: failure === '' ? undefined : failure,
      duration_ms: durationMs,
    },
  }
}
