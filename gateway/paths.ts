import { DOWNLOAD_PATH, UPLOAD_PATH } from '#lib/contract/attachments.ts'

/** The path of all methods with the v1 signature. */
export const V1_PATH = '/public/api/multihub/v1'

/** The path of all methods with the v2 signature. */
export const V2_PATH = '/public/api/multihub/v2'

/**
 * The resend path. `payment_id` is an id, or the placeholder of the router (`:payment_id`) or of the
 * reference (`{payment_id}`).
 */
export function resendPath(payment_id: string): string {
  return `/api/v1/payments/${payment_id}/webhook/resend`
}

/** The only accepted spelling of `V1_PATH`, matched against the raw request target without its query. */
export const V1_TARGET = new RegExp(`^${V1_PATH}$`)

/** The only accepted spelling of `V2_PATH`, matched like `V1_TARGET`. */
export const V2_TARGET = new RegExp(`^${V2_PATH}$`)

/** The only accepted spelling of the resend path. Its group captures the payment id exactly as it was sent. */
export const RESEND_TARGET = new RegExp(`^${resendPath('([^/?#]+)')}$`)

/** The path of an upload. Its group captures the proof of the link. */
export const UPLOAD_TARGET = new RegExp(`^${UPLOAD_PATH}([^/?#]+)$`)

/** The path of a download, matched like `UPLOAD_TARGET`. */
export const DOWNLOAD_TARGET = new RegExp(`^${DOWNLOAD_PATH}([^/?#]+)$`)
