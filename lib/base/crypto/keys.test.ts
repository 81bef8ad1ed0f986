import { hkdfSync } from 'node:crypto'
import { expect, test } from '@jest/globals'
import {
  createKeys,
  deriveKey,
  missingPurposes,
  PURPOSES,
  parseDerivedKeys,
  parseMasterKeys,
} from './keys.ts'
import { randomHex } from './random.ts'
import { Secret } from './secret.ts'

const old = randomHex(32)
const fresh = randomHex(32)
const given = (master: string, derived: string, active_id: string) => ({
  master_keys: master === '' ? new Map() : parseMasterKeys(master),
  derived_keys: derived === '' ? new Map() : parseDerivedKeys(derived),
  active_id,
})
const hexOf = (master: string, purpose: string) =>
  Buffer.from(hkdfSync('sha256', Buffer.from(master, 'hex'), '', purpose, 32)).toString('hex')

test('each purpose has a key of its own, by HKDF-SHA-256 with the purpose as info', () => {
  const [key] = parseMasterKeys(`2026:${old}`).values()
  if (key === undefined) throw new Error('no key')
  const all = PURPOSES.map((purpose) => deriveKey(key, purpose).export().toString('hex'))
  expect(new Set([...all, old]).size).toBe(PURPOSES.length + 1)
  expect(all).toEqual(PURPOSES.map((purpose) => hexOf(old, purpose)))
})

test('what one purpose has sealed, another cannot open', () => {
  const keys = createKeys(given(`2026:${old}`, '', '2026'), PURPOSES)
  const sealed = keys.credential.seal(new Secret('x'), 'a')
  expect(keys.credential.unseal(sealed, 'a').reveal()).toBe('x')
  for (const other of ['endpoint', 'webhook', 'link', 'cursor', 'session'] as const)
    expect(() => keys[other].unseal(sealed, 'a')).toThrow()
})

test('derived keys open what their master key has sealed, and the keyring holds no other purpose', () => {
  const all = createKeys(given(`2026:${old}`, '', '2026'), PURPOSES)
  const derived = createKeys(given('', `credential.2026:${hexOf(old, 'credential')}`, '2026'), ['credential'])
  expect(derived.credential.unseal(all.credential.seal(new Secret('x'), 'a'), 'a').reveal()).toBe('x')
  expect(Object.keys(derived)).toEqual(['credential'])
  expect(Object.keys(createKeys(given(`2026:${old}`, '', '2026'), ['journal']))).toEqual(['journal'])
})

test('the active key signs, the others verify, and no other key does', () => {
  const both = `old:${old},new:${fresh}`
  const before = createKeys(given(both, '', 'old'), ['journal']).journal
  const after = createKeys(given(both, '', 'new'), ['journal']).journal
  const signature = before.sign('head')
  expect(signature).toMatch(/^old\.[0-9a-f]{64}$/)
  expect(after.sign('head')).toMatch(/^new\./)
  expect(after.signWithEach('head')).toEqual([after.sign('head'), signature])
  expect(after.verify('head', signature)).toBe(true)
  expect(after.verify('heaD', signature)).toBe(false)
  expect(after.verify('head', `${signature.slice(0, -1)}x`)).toBe(false)
  expect(after.verify('head', '')).toBe(false)
  expect(createKeys(given(both, '', 'new'), ['audit']).audit.verify('head', signature)).toBe(false)
  // An old key is kept for verification alone, without its master key.
  const kept = createKeys(given(`new:${fresh}`, `journal.old:${hexOf(old, 'journal')}`, 'new'), ['journal'])
  expect(kept.journal.verify('head', signature)).toBe(true)
})

test('the purposes without an active key are named', () => {
  const derived = `journal.old:${old},cursor.new:${fresh}`
  expect(missingPurposes(given('', derived, 'new'), ['journal', 'cursor', 'link'])).toEqual([
    'journal',
    'link',
  ])
  expect(() => createKeys(given('', derived, 'new'), ['journal'])).toThrow('journal')
})

test.each([
  ['nothing', ''],
  ['no id', randomHex(32)],
  ['a short key', `a:${randomHex(31)}`],
  ['upper case', `a:${'A'.repeat(64)}`],
  ['the same id twice', `a:${old},a:${fresh}`],
  ['an unknown purpose', `payments.a:${old}`],
])('keys are refused with %s, without being shown', (_what, text) => {
  for (const parse of [parseMasterKeys, parseDerivedKeys])
    expect(() => parse(text)).toThrow(
      expect.objectContaining({ name: 'TypeError', message: expect.not.stringMatching(/[0-9a-fA-F]{20}/) }),
    )
})

test('a master key has no purpose, and a derived key has one', () => {
  expect(() => parseMasterKeys(`journal.a:${old}`)).toThrow(TypeError)
  expect(() => parseDerivedKeys(`a:${old}`)).toThrow(TypeError)
})
