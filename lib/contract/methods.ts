/** What a credential may be granted for support methods and the resend path (spec: v1 request headers, 6). */
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

/** A scope of a credential. */
export type Scope = (typeof SCOPES)[number]

/** The names of all public methods, as requests carry them (spec: Endpoints). */
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

/** Whether a method creates a payment. Such a create is looked up by its `c_id` before it is sent again (E14). */
export function createsPayment(method: string): boolean {
  return method === 'payment.in' || method === 'payment.out'
}

/**
 * The resources of the support methods: the first part of their names. The operator switches the methods of each on per
 * application (spec: Versioning; A10).
 */
export const SUPPORT_RESOURCES = ['ticket', 'refund', 'chargeback', 'attachment'] as const

type SupportResource = (typeof SUPPORT_RESOURCES)[number]

/** The resource that a support method is about; `undefined` for every other method. */
export function supportResourceOf(method: string): SupportResource | undefined {
  return SUPPORT_RESOURCES.find((resource) => method.startsWith(`${resource}.`))
}

/** The rate-limit bucket of the resend path (E10). No request envelope names it, but it is counted like a method. */
export const RESEND_METHOD = 'webhook.resend'

/** Turns the name of a method into a part of other names: `payment.in` becomes `Payment-In` or `PaymentIn`. */
export function methodTitle(name: string, separator: '-' | ''): string {
  const words = name.split('.').map((word) => word.charAt(0).toUpperCase() + word.slice(1))
  return words.join(separator)
}
