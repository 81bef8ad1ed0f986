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
