/** The one route of all methods, with the v1 signature. */
export const V1_PATH = '/public/api/multihub/v1'

/** The same methods, with the v2 signature. */
export const V2_PATH = '/public/api/multihub/v2'

/** The resend route of a payment; for the router and the reference, with their own word for the payment's id. */
export function resendPath(payment_id: string): string {
  return `/api/v1/payments/${payment_id}/webhook/resend`
}

/** The one spelling of `V1_PATH` that is taken, over a raw request target without its query. */
export const V1_TARGET = new RegExp(`^${V1_PATH}$`)

/** The same of `V2_PATH`. */
export const V2_TARGET = new RegExp(`^${V2_PATH}$`)

/** The same of the resend route; its group is the payment's id, exactly as it stands there. */
export const RESEND_TARGET = new RegExp(`^${resendPath('([^/?#]+)')}$`)
