import { describe, expect, test } from '@jest/globals'
import fc from 'fast-check'
import { createKeyring } from './keyring.ts'
import { randomHex } from './random.ts'
import { newSecret, Secret } from './secret.ts'

const master = (id: string): string => `${id}:${randomHex(32)}`
const old = master('2025')
const ring = createKeyring(new Secret(old))
const OWNER = 'credential:7001'

describe('a sealed secret', () => {
  test('is decrypted for its owner, for any text', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme' }), fc.string(), (text, owner) => {
        expect(ring.unseal(ring.seal(new Secret(text), owner), owner).reveal()).toBe(text)
      }),
    )
  })

  test('does not show the secret, and sealing twice gives different texts', () => {
    const secret = newSecret()
    const sealed = ring.seal(secret, OWNER)
    expect(sealed).not.toContain(secret.reveal())
    expect(Buffer.from(sealed.slice(5), 'base64url').includes(secret.reveal())).toBe(false)
    expect(ring.seal(secret, OWNER)).not.toBe(sealed)
  })

  test('is not decrypted for another owner', () => {
    const sealed = ring.seal(newSecret(), OWNER)
    expect(() => ring.unseal(sealed, 'credential:7002')).toThrow()
  })

  test('is not decrypted when a byte was altered or removed', () => {
    const [id, body = ''] = ring.seal(newSecret(), OWNER).split('.')
    const bytes = Buffer.from(body, 'base64url')
    for (let position = 0; position < bytes.length; position += 1) {
      const altered = Buffer.from(bytes)
      altered.writeUInt8(altered.readUInt8(position) ^ 1, position)
      expect(() => ring.unseal(`${id}.${altered.toString('base64url')}`, OWNER)).toThrow()
      const cut = bytes.subarray(0, position).toString('base64url')
      expect(() => ring.unseal(`${id}.${cut}`, OWNER)).toThrow()
    }
  })

  test('is not decrypted in another spelling of the same bytes', () => {
    const sealed = ring.seal(new Secret('a'), OWNER)
    const next = String.fromCharCode(sealed.charCodeAt(sealed.length - 1) + 1)
    const other = sealed.slice(0, -1) + next
    expect(Buffer.from(other.slice(5), 'base64url')).toEqual(Buffer.from(sealed.slice(5), 'base64url'))
    expect(() => ring.unseal(other, OWNER)).toThrow('not a sealed text')
  })

  test('is decrypted by a new keyring that holds its key, and not by a keyring that lacks it', () => {
    const fresh = master('2026')
    const secret = newSecret()
    const sealed = ring.seal(secret, OWNER)
    const rotated = createKeyring(new Secret(`${fresh}, ${old}`))
    expect(rotated.unseal(sealed, OWNER).reveal()).toBe(secret.reveal())
    expect(rotated.seal(secret, OWNER)).toMatch(/^2026\./)
    expect(() => createKeyring(new Secret(fresh)).unseal(sealed, OWNER)).toThrow('is not configured')
  })

  test('is not decrypted under another key of the same id', () => {
    const sealed = ring.seal(newSecret(), OWNER)
    expect(() => createKeyring(new Secret(master('2025'))).unseal(sealed, OWNER)).toThrow()
  })
})

test('a text that was never sealed is refused without being shown', () => {
  for (const text of [newSecret().reveal(), `sk_live.${randomHex(16)}`, '']) {
    const error = failure(() => ring.unseal(text, OWNER))
    expect(error).toBeInstanceOf(Error)
    for (const part of text.split('.').filter((piece) => piece !== '')) {
      expect(String(error)).not.toContain(part)
      expect(String(error)).not.toContain(part.slice(0, -1))
    }
  }
})

test.each([
  ['nothing', ''],
  ['no id', randomHex(32)],
  ['a short key', `a:${randomHex(31)}`],
  ['upper case', `a:${'A'.repeat(64)}`],
  ['the same id twice', `${master('a')},${master('a')}`],
])('master keys are refused with %s, without being shown', (_what, text) => {
  const error = failure(() => createKeyring(new Secret(text)))
  expect(error).toBeInstanceOf(TypeError)
  expect(String(error)).not.toMatch(/[0-9a-fA-F]{20}/)
})

function failure(work: () => unknown): unknown {
  try {
    return work()
  } catch (error) {
    return error
  }
}
