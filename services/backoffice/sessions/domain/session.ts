import { sha256Hex } from '#lib/base/crypto/hash.ts'

/** The sign-in of a browser or of a command line (O21). Only the SHA-256 of its secret is kept. */
export interface Session {
  /** Lower-case hexadecimal SHA-256 of the whole secret, prefix included. */
  readonly secret_sha256: string
  readonly principal_id: string
  /** The token that began it: the session counts only while this token counts. Absent after a sign-in without a token. */
  readonly token_sha256?: string
  readonly created_at: Date
  /** The end without a further request; never after the absolute end. */
  readonly expires_at: Date
}

/** The beginning of the secret of each session. */
export const SESSION_PREFIX = 'mhs_'

const IDLE_MS = 30 * 60_000
const ABSOLUTE_MS = 12 * 3_600_000
/** The end moves in steps of a minute, so that a busy session costs one write per minute. */
const STEP_MS = 60_000

/** How long a browser keeps the cookie of a session. */
export const COOKIE_MAX_SECONDS = ABSOLUTE_MS / 1_000

/** The session that a sign-in begins. */
export function beginSession(
  secret: string,
  { principal_id, token_sha256 }: Pick<Session, 'principal_id' | 'token_sha256'>,
  at: Date,
): Session {
  return {
    secret_sha256: sha256Hex(secret),
    principal_id,
    ...(token_sha256 === undefined ? {} : { token_sha256 }),
    created_at: at,
    expires_at: endAfterUse({ created_at: at }, at),
  }
}

/** The session after a request at this time; `undefined` where its end need not move yet. */
export function continueSession(session: Session, at: Date): Session | undefined {
  const expires_at = endAfterUse(session, at)
  const moves_ms = expires_at.getTime() - session.expires_at.getTime()
  return moves_ms >= STEP_MS ? { ...session, expires_at } : undefined
}

function endAfterUse({ created_at }: Pick<Session, 'created_at'>, at: Date): Date {
  return new Date(Math.min(at.getTime() + IDLE_MS, created_at.getTime() + ABSOLUTE_MS))
}
