import { PublicError } from '#lib/contract/errors/public-error.ts'
import { SCAN_PAUSE_MAX_MS } from './attachment.ts'

/** The sender of a file: the merchant, or the operator for evidence. Each has sessions of its own. */
export type Sender = 'merchant' | 'operator'

/** The place of one file in the quota: its upload session is open, or it is scanned. */
export interface FilePlace {
  readonly attachment_id: string
  readonly size_bytes: number
  /** The end of the session, and of a place that is not kept. */
  readonly expires_at: Date
  /**
   * Set before the file becomes `scanning`. The place then does not end with the session: it is free when an effect of the
   * file gives it back.
   */
  readonly is_kept?: true
}

/** The files of a merchant in one environment, of one sender, that are uploaded or scanned (F4). */
export interface UploadQuota {
  readonly merchant_id: string
  readonly environment: string
  readonly sender: Sender
  /** The places that are taken. */
  readonly places: readonly FilePlace[]
}

/** The limits of files that are uploaded or scanned (F4). */
export const QUOTA_LIMITS = { places: 20, unfinished_bytes: 100 * 1024 * 1024 } as const

/**
 * The places with a new one, and without those that have expired: the place of a session that a crash left behind is free
 * when the session is over. `undefined` when the file has a place already, until that end or later; a place that ends
 * earlier is replaced. Throws 1000 with HTTP 429 (E10) when all places are taken, with the time until one may be free.
 */
export function withPlace(
  places: readonly FilePlace[],
  place: FilePlace,
  at: Date,
): readonly FilePlace[] | undefined {
  const { attachment_id, size_bytes, expires_at } = place
  const own = places.find((one) => one.attachment_id === attachment_id)
  if (own !== undefined && (own.is_kept || own.expires_at >= expires_at)) return undefined
  const taken = places.filter((one) => one !== own && (one.is_kept || one.expires_at > at))
  const unfinished_bytes = taken.reduce((sum, one) => sum + one.size_bytes, size_bytes)
  if (taken.length >= QUOTA_LIMITS.places)
    throw quotaRefusal('attachment_sessions', QUOTA_LIMITS.places, taken, at)
  if (unfinished_bytes > QUOTA_LIMITS.unfinished_bytes)
    throw quotaRefusal('attachment_bytes', QUOTA_LIMITS.unfinished_bytes, taken, at)
  return [...taken, place]
}

/** The places, where the place of a file is kept now; `undefined` when it is kept already or not there. */
export function withKeptPlace(
  places: readonly FilePlace[],
  attachment_id: string,
): readonly FilePlace[] | undefined {
  const own = places.find((place) => place.attachment_id === attachment_id)
  if (own === undefined || own.is_kept) return undefined
  return places.map((place) => (place === own ? { ...own, is_kept: true } : place))
}

/** The places without the places of some files; `undefined` when none of them has one. */
export function withoutPlaces(
  places: readonly FilePlace[],
  attachment_ids: readonly string[],
): readonly FilePlace[] | undefined {
  const rest = places.filter((place) => !attachment_ids.includes(place.attachment_id))
  return rest.length === places.length ? undefined : rest
}

function quotaRefusal(bucket: string, limit: number, taken: readonly FilePlace[], at: Date): PublicError {
  // The end of a scan is not known, but a file without a verdict is scanned again after this pause at the latest.
  const scanned_ms = at.getTime() + SCAN_PAUSE_MAX_MS
  const ends_ms = Math.min(
    ...taken.map(({ is_kept, expires_at }) => (is_kept ? scanned_ms : expires_at.getTime())),
  )
  const retry_after_seconds = Math.max(1, Math.ceil((ends_ms - at.getTime()) / 1_000))
  return new PublicError(1000, { http: 429, details: { bucket, limit, retry_after_seconds } })
}
