/** The subject of the bus on which an event is published. */
export function eventSubject(event: string): string {
  return `events.${event}`
}

/** The pattern of the subjects of all events. */
export const ALL_EVENTS_SUBJECT = eventSubject('>')

/** The events that an endpoint receives unless it lists others (N1). */
export const PAYMENT_EVENTS = [
  'payment.created',
  'payment.completed',
  'payment.failed',
  'payment.cancelled',
  'payment.refunded',
] as const

/** The events that an endpoint receives only when it lists them (spec: Support events). */
export const SUPPORT_EVENTS = [
  'ticket.created',
  'ticket.updated',
  'ticket.status_changed',
  'ticket.comment.created',
  'ticket.reopened',
  'refund.requested',
  'refund.status_changed',
  'chargeback.created',
] as const

/** The name of an event that a merchant can receive. */
export type EventName = (typeof PAYMENT_EVENTS)[number] | (typeof SUPPORT_EVENTS)[number]

/**
 * Whether an event may have a key: that of an event of support has the name of the event as its second part, that of a payment's event
 * a word without a dot. So no publishing role can take the key of another one's event, which would then count as stored (O10).
 */
export function isKeyOfEvent(event: string, event_key: string): boolean {
  const word = event_key.split(':')[1] ?? ''
  return SUPPORT_EVENTS.some((name) => name === event) ? word === event : !word.includes('.')
}
