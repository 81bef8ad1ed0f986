import { update } from '#lib/patterns/update.ts'
import { Conflict } from '#lib/store/errors.ts'
import { keyOf } from '#lib/store/lookup.ts'
import type { CollectionSpec, Store } from '#lib/store/store.ts'
import { continueSession, type Session } from '../domain/session.ts'

/** The collection of sessions, which a restore leaves empty. */
export const SESSIONS = {
  name: 'sessions',
  partition: ['secret_sha256'],
  key: ['secret_sha256'],
  expires: 'expires_at',
} as const satisfies CollectionSpec

const keyOfSession = keyOf(SESSIONS)

/** The stored sessions. */
export type SessionStore = Awaited<ReturnType<typeof openSessionStore>>

/** Opens the collection of sessions. */
export async function openSessionStore(store: Store) {
  const collection = await store.collection<Session>(SESSIONS)
  return {
    get: (secret_sha256: string): Promise<Session | undefined> => collection.get({ secret_sha256 }),
    async insert(session: Session): Promise<void> {
      await collection.insert(session)
    },
    /** Moves the end of a session after a request at this time; a session that has ended stays ended. */
    async continue(session: Session, at: Date): Promise<void> {
      await update(collection, keyOfSession(session), (current) => continueSession(current, at))
    },
    /** Ends a session permanently. A repetition changes nothing. */
    async end(secret_sha256: string): Promise<void> {
      for (;;) {
        const current = await collection.get({ secret_sha256 })
        if (current === undefined) return
        try {
          return void (await collection.delete({ secret_sha256 }, current.version))
        } catch (error) {
          // A request on another process moved its end meanwhile, which happens once per minute at most.
          if (!(error instanceof Conflict)) throw error
        }
      }
    },
  }
}
