import { SUPPORT_EVENTS } from '#lib/contract/events.ts'
import type { SimulatedEndpoint, SimulatedMerchant } from '../workload/merchants.ts'
import { storedDeliveries, storedEvents } from './callbacks.ts'
import { documentsOf, type Evidence, type Invariant, paymentsOf } from './judge.ts'

/** The event of each status. It is written here again, so that a fault in the product's own table is found. */
const EVENT_OF_STATUS: Readonly<Record<string, string>> = {
  created: 'payment.created',
  success: 'payment.completed',
  error: 'payment.failed',
  declined: 'payment.failed',
  partially_refunded: 'payment.refunded',
  refunded: 'payment.refunded',
  canceled: 'payment.cancelled',
}

/** The fields of the resources of support that the invariants read. */
interface StoredTicket {
  readonly merchant_id: string
  readonly ticket_id: string
  readonly event_counts: Readonly<Record<string, number>>
}

interface StoredRefund {
  readonly merchant_id: string
  readonly refund_id: string
  readonly status: string
  readonly change_number: number
}

interface StoredChargeback {
  readonly merchant_id: string
  readonly chargeback_id: string
}

/** An event that must exist. */
interface ExpectedEvent {
  readonly merchant_id: string
  readonly key: string
  readonly name: string
  /** The address of the payment, which takes the place of all endpoints. */
  readonly webhook?: string | undefined
}

/** The keys of events that follow a change. A callback on request has another one. */
const FOLLOWS_CHANGE = /:(?:[a-z_]+|[a-z]+\.[a-z_.]+(?::[a-z0-9:]+)?)$/

/** The time of a ticket's change, which ends the key of its event. */
const TIME_OF_CHANGE = /(:ticket\.[a-z_.]+:[0-9]+):[0-9]+$/

/**
 * Once faults have stopped, every change has its event, every event whose key names a change has that change, and each
 * has a delivery for each of its destinations. What happens to the deliveries is judged by `deliveriesHaveEnded`.
 */
export const eventsAreDelivered: Invariant = function* (evidence) {
  const stored = storedEvents(evidence)
  const events = new Map(stored.map((event) => [event.event_key.replace(TIME_OF_CHANGE, '$1'), event]))
  if (events.size < stored.length) yield `${stored.length} events of ${events.size} changes were stored`
  const deliveries = new Map(storedDeliveries(evidence).map((delivery) => [delivery.delivery_id, delivery]))
  const expected = [...paymentEvents(evidence), ...supportEvents(evidence)]
  for (const { merchant_id, key, name, webhook } of expected) {
    const merchant = evidence.merchants.find((one) => one.merchant_id === merchant_id)
    const event = events.get(key)
    const { certain, possible } = destinationsOf(merchant, webhook, name)
    if (event === undefined) {
      if (certain.length > 0) yield `the event ${name} ${key} was not stored`
      continue
    }
    if (event.event !== name) yield `the event ${key} is ${event.event} instead of ${name}`
    const urls = event.destinations.map(({ url }) => url)
    const is_right = certain.every((url) => urls.includes(url)) && urls.every((url) => possible.includes(url))
    if (!is_right || new Set(urls).size !== urls.length)
      yield `the event ${key} goes to ${urls}; it must go to ${certain}, and may go to ${possible}`
  }
  const expected_by_key = new Map(expected.map((one) => [one.key, one]))
  // What is known of real processes does not include the counts of the events of support.
  const has_support = evidence.databases.has('support')
  for (const [event_key, { event, destinations }] of events) {
    // A crash may leave a callback on request without deliveries: then the merchant got no response.
    if (!FOLLOWS_CHANGE.test(event_key) || (!has_support && !event.startsWith('payment.'))) continue
    const follows = expected_by_key.get(event_key)
    if (follows === undefined) {
      yield `the event ${event_key} follows no change`
      continue
    }
    const merchant = evidence.merchants.find((one) => one.merchant_id === follows.merchant_id)
    // An event that was stored late, when its endpoint was closed and its receipt sent, gets no delivery there.
    const { certain } = destinationsOf(merchant, follows.webhook, follows.name)
    for (const { delivery_id, url } of destinations) {
      if (!deliveries.has(delivery_id) && certain.includes(url))
        yield `the delivery ${delivery_id} of ${event_key} does not exist`
    }
  }
  for (const [operation_id, delivery_ids] of evidence.history.resends) {
    for (const delivery_id of delivery_ids.split(',')) {
      if (!deliveries.has(delivery_id)) yield `the delivery ${delivery_id} of ${operation_id} does not exist`
    }
  }
}

/** The events of all statuses of payments, each entered once, and of their completed refunds (P18). */
function paymentEvents(evidence: Evidence): readonly ExpectedEvent[] {
  return paymentsOf(evidence).flatMap(({ merchant_id, payment_id, webhook, history, refunds = [] }) => [
    ...history.flatMap(({ status }) => {
      const name = EVENT_OF_STATUS[status]
      if (name === undefined || name === 'payment.refunded') return []
      return [{ merchant_id, key: `${payment_id}:${status}`, name, webhook: webhook?.url }]
    }),
    ...refunds.flatMap(({ refund_id, state }) => {
      if (state !== 'completed') return []
      return [{ merchant_id, key: `${refund_id}:completed`, name: 'payment.refunded', webhook: webhook?.url }]
    }),
  ])
}

/** The event of a ticket that occurs once only, so that its key has no number (S12). */
const UNNUMBERED = 'ticket.created'

/** The names of events of tickets, in the form in which a ticket counts them. */
const TICKET_EVENTS = SUPPORT_EVENTS.filter((name) => name.startsWith('ticket.'))

/** The events of all changes of tickets, refunds and chargebacks, numbered one by one (S12). */
function supportEvents({ databases }: Evidence): readonly ExpectedEvent[] {
  const tickets = documentsOf<StoredTicket>(databases, 'support', 'tickets')
  const refunds = documentsOf<StoredRefund>(databases, 'support', 'refunds')
  const chargebacks = documentsOf<StoredChargeback>(databases, 'support', 'chargebacks')
  const numbered = (
    resource_id: string,
    name: string,
    count: number,
  ): readonly { key: string; name: string }[] =>
    Array.from({ length: count }, (_, index) => ({ key: `${resource_id}:${name}:${index + 1}`, name }))
  return [
    ...tickets.flatMap(({ merchant_id, ticket_id, event_counts }) =>
      TICKET_EVENTS.flatMap((name) => {
        const count = event_counts[name.replaceAll('.', '_')] ?? 0
        return name === UNNUMBERED
          ? [{ key: `${ticket_id}:${name}`, name }]
          : numbered(ticket_id, name, count)
      }).map((event) => ({ ...event, merchant_id })),
    ),
    ...refunds.flatMap(({ merchant_id, refund_id, status, change_number }) =>
      [
        { key: `${refund_id}:refund.requested`, name: 'refund.requested' },
        ...refundStatuses(status, change_number).map((entered) => ({
          key: `${refund_id}:refund.status_changed:${entered}`,
          name: 'refund.status_changed',
        })),
      ].map((event) => ({ ...event, merchant_id })),
    ),
    ...chargebacks.map(({ merchant_id, chargeback_id }) => ({
      merchant_id,
      key: `${chargeback_id}:chargeback.created`,
      name: 'chargeback.created',
    })),
  ]
}

/** The statuses that a refund has entered since its request. What is approved comes before its end. */
function refundStatuses(status: string, change_number: number): readonly string[] {
  return ['approved', status].slice(3 - change_number)
}

/** The URLs of an event. An endpoint that was closed for a time is possible, but not certain. */
interface Destinations {
  /** Where it must go. */
  readonly certain: readonly string[]
  /** Where it may go. */
  readonly possible: readonly string[]
}

const urlOf = ({ origin }: SimulatedEndpoint): string => `${origin}/callbacks`

function destinationsOf(
  merchant: SimulatedMerchant | undefined,
  webhook: string | undefined,
  event: string,
): Destinations {
  if (webhook !== undefined) return { certain: [webhook], possible: [webhook] }
  const endpoints = (merchant?.endpoints ?? []).filter(({ events }) => events.includes(event))
  return {
    certain: endpoints.filter(({ may_be_closed }) => !may_be_closed).map(urlOf),
    possible: endpoints.map(urlOf),
  }
}
