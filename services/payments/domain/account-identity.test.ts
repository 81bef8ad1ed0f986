import { expect, test } from '@jest/globals'
import {
  confirmAccount,
  isMoved,
  isSendKept,
  type KnownAccount,
  newKnownAccount,
} from './account-identity.ts'

const at = (seconds: number): Date => new Date(Date.UTC(2026, 0, 1) + seconds * 1_000)
const stamp = (fingerprint: string, seconds = 0) => ({ fingerprint, at: at(seconds) })
const confirm = (fingerprint: string, seconds: number, known?: KnownAccount): KnownAccount =>
  confirmAccount(known, { account_id: 'acme', fingerprint, operation_id: `op-${seconds}`, at: at(seconds) })

// P4
test('an operation is where it was sent while its account is the same', () => {
  expect(isMoved([stamp('a')], 'a', undefined)).toBe(false)
  expect(isMoved([stamp('a')], 'b', undefined)).toBe(true)
  expect(isMoved([stamp('a'), stamp('b')], 'b', undefined)).toBe(true)
  expect(isMoved([stamp('b'), stamp('a')], 'b', undefined)).toBe(true)
})

// P19
test('what was not sent before a backup was sent to what its account was at first, or to what is confirmed', () => {
  const known = newKnownAccount({ account_id: 'acme', fingerprint: 'a' })
  expect(isMoved([undefined], 'a', known)).toBe(false)
  expect(isMoved([undefined], 'b', known)).toBe(true)
  expect(isMoved([undefined], 'b', confirm('b', 10, known))).toBe(false)
  expect(isMoved([undefined], 'a', confirm('b', 10, known))).toBe(true)
  expect(isMoved([undefined], 'a', undefined)).toBe(true)
  expect(isMoved([stamp('b')], 'a', known)).toBe(true)
})

test('a confirmation covers what was sent before it, and only to what it confirmed', () => {
  const confirmed = confirm('b', 10)
  expect(isMoved([stamp('a', 9)], 'b', confirmed)).toBe(false)
  expect(isMoved([stamp('a', 9), stamp('c', 9)], 'b', confirmed)).toBe(false)
  expect(isMoved([stamp('a', 10)], 'b', confirmed)).toBe(true)
  expect(isMoved([stamp('a', 9)], 'c', confirmed)).toBe(true)
})

test('each operation confirms once, and those that were repeated late are known', () => {
  const first = confirm('b', 10)
  const second = confirm('c', 20, first)
  expect(second).toMatchObject({ count: 2, fingerprint: 'c', operation_ids: ['op-10', 'op-20'] })
  expect(confirm('d', 10, second)).toBe(second)
  let known: KnownAccount | undefined
  for (let seconds = 0; seconds < 100; seconds += 1) known = confirm('b', seconds, known)
  expect(known?.operation_ids.length).toBeLessThan(50)
})

test('a send is kept when the operation has the stamp of what its account is now', () => {
  expect(isSendKept(stamp('a'), 'a')).toBe(true)
  expect(isSendKept(stamp('a'), 'b')).toBe(false)
  expect(isSendKept(undefined, 'a')).toBe(false)
})
