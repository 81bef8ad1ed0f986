/** What a credential may be granted for support methods and the resend route (spec: v1 request headers, 6). */
export const SCOPES = [
  'tickets.create',
  'tickets.read',
  'tickets.update',
  'tickets.comment',
  'refunds.create',
  'refunds.read',
  'refunds.comment',
  'chargebacks.read',
  'webhooks.update',
] as const

/** A grant of a credential. */
export type Scope = (typeof SCOPES)[number]

/** The bucket of the resend route (E10). It is no method of the envelope, but it is counted like one. */
export const RESEND_BUCKET = 'webhook.resend'

/** Every public method by the name that a request carries (spec: Endpoints). */
export const METHODS = [
  'payment.in',
  'payment.out',
  'payment.status',
  'payment.notification',
  'balance.get',
  'gateway.ping',
  'ticket.create',
  'ticket.get',
  'ticket.list',
  'ticket.summary',
  'ticket.description.update',
  'ticket.reopen',
  'ticket.comment.create',
  'ticket.comments.list',
  'ticket.comment.update',
  'refund.request',
  'refund.get',
  'refund.list',
  'refund.summary',
  'refund.comment.create',
  'refund.comments.list',
  'chargeback.get',
  'chargeback.list',
  'chargeback.summary',
  'chargeback.attachments.list',
  'attachment.prepare',
  'attachment.finalize',
  'attachment.status',
  'attachment.get',
] as const

/** The name of a public method. */
export type MethodName = (typeof METHODS)[number]

/** What an endpoint without a list of its own is told of (N1). */
export const PAYMENT_EVENTS = [
  'payment.created',
  'payment.completed',
  'payment.failed',
  'payment.cancelled',
  'payment.refunded',
] as const

/** What an endpoint is told of only when it was asked for by name (spec: Support events). */
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

/** The name of an event that a merchant can be told of. */
export type EventName = (typeof PAYMENT_EVENTS)[number] | (typeof SUPPORT_EVENTS)[number]
