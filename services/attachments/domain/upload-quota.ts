import { PublicError } from '#lib/contract/errors/public-error.ts'
import { SCAN_PAUSE_MAX_MS } from './attachment.ts'

/** The sender of a file: the merchant, or the operator for evidence. Each has sessions of its own. */
export type Sender = 'merchant' | 'operator'

/** One file that has a place: its upload session is open, or it is scanned. */
export interface OpenSession {
  readonly attachment_id: string
  readonly size_bytes: number
  readonly expires_at: Date
  /**
   * Set before the file becomes `scanning`. The place then has no end of its own: it is free when an effect of the file gives
   * it back.
   */
  readonly is_kept?: true
}

/** The files of a merchant in one environment, of one sender, that are uploaded or scanned (F4). */
export interface UploadQuota {
  readonly merchant_id: string
  readonly environment: string
  readonly sender: Sender
  readonly sessions: readonly OpenSession[]
}

/** The limits of files that are uploaded or scanned (F4). */
export const QUOTA_LIMITS = { sessions: 20, unfinished_bytes: 100 * 1024 * 1024 } as const

/**
 * The sessions with a new one, and without those that have expired: a session that a crash left behind gives its place
 * back when its time is over. `undefined` when the session is there already until that end or later; one that ends earlier
 * is replaced. Throws 1000 with HTTP 429 (E10) when all places are taken, with the time until one may be free.
 */
export function withSession(
  sessions: readonly OpenSession[],
  session: OpenSession,
  at: Date,
): readonly OpenSession[] | undefined {
  const { attachment_id, size_bytes, expires_at } = session
  const own = sessions.find((one) => one.attachment_id === attachment_id)
  if (own !== undefined && (own.is_kept || own.expires_at >= expires_at)) return undefined
  const open = sessions.filter((one) => one !== own && (one.is_kept || one.expires_at > at))
  const unfinished_bytes = open.reduce((sum, one) => sum + one.size_bytes, size_bytes)
  if (open.length >= QUOTA_LIMITS.sessions)
    throw quotaRefusal('attachment_sessions', QUOTA_LIMITS.sessions, open, at)
  if (unfinished_bytes > QUOTA_LIMITS.unfinished_bytes)
    throw quotaRefusal('attachment_bytes', QUOTA_LIMITS.unfinished_bytes, open, at)
  return [...open, session]
}

/** The sessions with one that is kept; `undefined` when it is kept already or not there. */
export function withKeptSession(
  sessions: readonly OpenSession[],
  attachment_id: string,
): readonly OpenSession[] | undefined {
  const own = sessions.find((session) => session.attachment_id === attachment_id)
  if (own === undefined || own.is_kept) return undefined
  return sessions.map((session) => (session === own ? { ...own, is_kept: true } : session))
}

/** The sessions without some; `undefined` when none of them is there. */
export function withoutSessions(
  sessions: readonly OpenSession[],
  attachment_ids: readonly string[],
): readonly OpenSession[] | undefined {
  const rest = sessions.filter((session) => !attachment_ids.includes(session.attachment_id))
  return rest.length === sessions.length ? undefined : rest
}

function quotaRefusal(bucket: string, limit: number, open: readonly OpenSession[], at: Date): PublicError {
  // The end of a scan is not known, but a file without a verdict is scanned again after this pause at the latest.
  const scanned_ms = at.getTime() + SCAN_PAUSE_MAX_MS
  const ends_ms = Math.min(
    ...open.map(({ is_kept, expires_at }) => (is_kept ? scanned_ms : expires_at.getTime())),
  )
  const retry_after_seconds = Math.max(1, Math.ceil((ends_ms - at.getTime()) / 1_000))
  return new PublicError(1000, { http: 429, details: { bucket, limit, retry_after_seconds } })
}
