import { PublicError } from '#lib/contract/errors/public-error.ts'

/** The sender of a file: the merchant, or the operator for evidence. Each has sessions of its own. */
export type Sender = 'merchant' | 'operator'

/** One open upload session. */
export interface OpenSession {
  readonly attachment_id: string
  readonly size_bytes: number
  readonly expires_at: Date
}

/** The open sessions of a merchant in one environment, of one sender (F4). */
export interface UploadQuota {
  readonly merchant_id: string
  readonly environment: string
  readonly sender: Sender
  readonly sessions: readonly OpenSession[]
}

/** The limits of open sessions (F4). */
export const QUOTA_LIMITS = { sessions: 20, unfinished_bytes: 100 * 1024 * 1024 } as const

/**
 * The sessions with a new one, and without those that have expired: a session that a crash left behind gives its place
 * back when its time is over. `undefined` when the session is there already until that end or later; one that ends earlier
 * is replaced. Throws 1000 with HTTP 429 (E10) when all places are taken, with the time until the next session ends.
 */
export function withSession(
  sessions: readonly OpenSession[],
  session: OpenSession,
  at: Date,
): readonly OpenSession[] | undefined {
  const { attachment_id, size_bytes, expires_at } = session
  if (sessions.some((one) => one.attachment_id === attachment_id && one.expires_at >= expires_at))
    return undefined
  const open = sessions.filter((one) => one.expires_at > at && one.attachment_id !== attachment_id)
  const unfinished_bytes = open.reduce((sum, one) => sum + one.size_bytes, size_bytes)
  if (open.length >= QUOTA_LIMITS.sessions)
    throw quotaRefusal('attachment_sessions', QUOTA_LIMITS.sessions, open, at)
  if (unfinished_bytes > QUOTA_LIMITS.unfinished_bytes)
    throw quotaRefusal('attachment_bytes', QUOTA_LIMITS.unfinished_bytes, open, at)
  return [...open, session]
}

/** The sessions without one; `undefined` when it is not there. */
export function withoutSession(
  sessions: readonly OpenSession[],
  attachment_id: string,
): readonly OpenSession[] | undefined {
  const rest = sessions.filter((session) => session.attachment_id !== attachment_id)
  return rest.length === sessions.length ? undefined : rest
}

function quotaRefusal(bucket: string, limit: number, open: readonly OpenSession[], at: Date): PublicError {
  const ends_ms = Math.min(...open.map(({ expires_at }) => expires_at.getTime()))
  const retry_after_seconds = Math.max(1, Math.ceil((ends_ms - at.getTime()) / 1_000))
  return new PublicError(1000, { http: 429, details: { bucket, limit, retry_after_seconds } })
}
