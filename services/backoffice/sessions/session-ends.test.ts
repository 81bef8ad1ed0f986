import { afterEach, beforeEach, expect, test } from '@jest/globals'
import { type InstalledClock, installManualClock } from '../../../test/support/manual-clock.ts'
import { openTestStore, type TestStore } from '../../../test/support/store.ts'
import type { Session } from './domain/session.ts'
import { createSessions } from './sessions.ts'
import { openSessionStore, type SessionStore } from './store/sessions.ts'

const MINUTE_MS = 60_000

let opened: TestStore
let clock: InstalledClock
beforeEach(async () => {
  opened = await openTestStore()
  clock = installManualClock()
})
afterEach(async () => {
  clock[Symbol.dispose]()
  await opened[Symbol.asyncDispose]()
})

/** A store that goes on to answer with what has ended, as one does that deletes much later. */
function neverForgetting(store: SessionStore): SessionStore {
  const known = new Map<string, Session>()
  return {
    ...store,
    async get(secret_sha256) {
      const session = (await store.get(secret_sha256)) ?? known.get(secret_sha256)
      if (session !== undefined) known.set(secret_sha256, session)
      return session
    },
  }
}

/** A process with a session, and another process on the same store. */
async function begin(keeping: (store: SessionStore) => SessionStore = (store) => store) {
  const sessions = createSessions(keeping(await openSessionStore(opened.store)))
  const others = createSessions(keeping(await openSessionStore(opened.store)))
  const secret = (await sessions.begin({ principal_id: 'one' })).reveal()
  return { sessions, others, secret }
}

// O21: a store may delete an ended session much later.
test('a session does not count 30 minutes after its last request, though the store still has it', async () => {
  const { sessions, others, secret } = await begin(neverForgetting)
  await clock.advance(29 * MINUTE_MS)
  expect(await sessions.find(secret)).toMatchObject({ principal_id: 'one' })
  await clock.advance(29 * MINUTE_MS)
  // The request before moved the end.
  expect(await others.find(secret)).toMatchObject({ principal_id: 'one' })
  await clock.advance(30 * MINUTE_MS)
  expect([await sessions.find(secret), await others.find(secret)]).toEqual([undefined, undefined])
})

// O21
test('an ended session counts nowhere: not here from now on, and in other processes a second later', async () => {
  const { sessions, others, secret } = await begin()
  await Promise.all([sessions.find(secret), others.find(secret)])
  await sessions.end(secret)
  expect(await sessions.find(secret)).toBeUndefined()
  await clock.advance(1_000)
  expect(await others.find(secret)).toBeUndefined()
})

// O21
test('a session is stored by its hash alone, and read once per second; a failed read is not kept', async () => {
  const store = await openSessionStore(opened.store)
  const sessions = createSessions(store)
  const secret = (await sessions.begin({ principal_id: 'one' })).reveal()
  expect(await store.get(secret)).toBeUndefined()
  opened.setUnavailable(true)
  await expect(sessions.find(secret)).rejects.toThrow('unavailable')
  opened.setUnavailable(false)
  expect(await sessions.find(secret)).toBeDefined()
  opened.setUnavailable(true)
  await clock.advance(999)
  expect([sessions.isCached(secret), await sessions.find(secret)]).toMatchObject([true, {}])
  await clock.advance(1)
  expect(sessions.isCached(secret)).toBe(false)
  await expect(sessions.find(secret)).rejects.toThrow('unavailable')
})

test('a store that cannot move the end of a session refuses no request', async () => {
  const store = await openSessionStore(opened.store)
  const sessions = createSessions({
    ...store,
    continue: async () => {
      throw new Error('the store cannot write')
    },
  })
  const secret = (await sessions.begin({ principal_id: 'one' })).reveal()
  await clock.advance(MINUTE_MS)
  expect(await sessions.find(secret)).toMatchObject({ principal_id: 'one' })
})
