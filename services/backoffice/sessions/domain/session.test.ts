import { expect, test } from '@jest/globals'
import { beginSession, continueSession, type Session } from './session.ts'

const MINUTE_MS = 60_000
const at = (minutes: number): Date => new Date(minutes * MINUTE_MS)
const begun = beginSession('mhs_secret', { principal_id: 'a' }, at(0))

/** The session after one request every 20 minutes. */
function used(until: number): Session {
  let session = begun
  for (let minutes = 20; minutes <= until; minutes += 20)
    session = continueSession(session, at(minutes)) ?? session
  return session
}

// O21
test('a session ends 30 minutes after its last request, and 12 hours after its beginning', () => {
  expect(begun.expires_at).toEqual(at(30))
  expect(used(20).expires_at).toEqual(at(50))
  expect(used(700).expires_at).toEqual(at(720))
  expect(continueSession(used(700), at(719))).toBeUndefined()
})

test('the end moves in steps of a minute', () => {
  expect(continueSession(begun, new Date(59_999))).toBeUndefined()
  expect(continueSession(begun, at(1))?.expires_at).toEqual(at(31))
})
