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
