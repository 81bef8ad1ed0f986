import { sha256Hex } from '#lib/base/crypto/hash.ts'
import { randomHex } from '#lib/base/crypto/random.ts'
import { Secret } from '#lib/base/crypto/secret.ts'
import { now } from '#lib/base/time.ts'
import { log } from '#lib/telemetry/log.ts'
import { createCachedRead } from './cached-read.ts'
import { beginSession, continueSession, SESSION_PREFIX, type Session } from './domain/session.ts'
import type { SessionStore } from './store/sessions.ts'

/** The sessions as a process sees them (O21). */
export type Sessions = ReturnType<typeof createSessions>

/** Begins, finds and ends sessions. Each process reads a session at most once per second. */
export function createSessions(store: SessionStore) {
  const reads = createCachedRead((secret_sha256) => store.get(secret_sha256))

  /** A store that cannot write must not refuse the request: the session ends earlier then. */
  async function moveEnd(session: Session, at: Date): Promise<void> {
    try {
      await store.continue(session, at)
      reads.forget(session.secret_sha256)
    } catch (error) {
      log.warn({ error }, 'the idle end of a session could not be moved')
    }
  }

  return {
    /** Begins a session of 256 random bits and returns its secret, which is not stored. */
    async begin(owner: Pick<Session, 'principal_id' | 'token_sha256'>): Promise<Secret> {
      const secret = SESSION_PREFIX + randomHex(32)
      await store.insert(beginSession(secret, owner, now()))
      return new Secret(secret)
    },
    /** The session with this secret, whose idle end begins again; `undefined` where it is unknown or has ended. */
    async find(secret: string): Promise<Session | undefined> {
      const session = await reads.get(sha256Hex(secret))
      const at = now()
      if (session === undefined || session.expires_at <= at) return undefined
      if (continueSession(session, at) !== undefined) await moveEnd(session, at)
      return session
    },
    /** Whether `find` needs no read of the store now. */
    isCached: (secret: string): boolean => reads.has(sha256Hex(secret)),
    /** Ends the session with this secret; it counts nowhere 2 s later, and not here from now on. */
    async end(secret: string): Promise<void> {
      const secret_sha256 = sha256Hex(secret)
      await store.end(secret_sha256)
      reads.forget(secret_sha256)
    },
  }
}
