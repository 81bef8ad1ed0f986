import { createSecretKey } from 'node:crypto'
import { describe, expect, test } from '@jest/globals'
import fc from 'fast-check'
import { createKeyring } from './keyring.ts'
import { randomBytes, randomHex } from './random.ts'
import { newSecret, Secret } from './secret.ts'

const newKey = () => createSecretKey(randomBytes(32))
const old = newKey()
const ring = createKeyring({ active_id: '2025', keys: new Map([['2025', old]]) })
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

  test('is decrypted by a keyring that holds its key, and not by a keyring that lacks it', () => {
    const fresh = newKey()
    const secret = newSecret()
    const sealed = ring.seal(secret, OWNER)
    const keys = new Map([
      ['2025', old],
      ['2026', fresh],
    ])
    for (const active_id of ['2025', '2026']) {
      const rotated = createKeyring({ active_id, keys })
      expect(rotated.unseal(sealed, OWNER).reveal()).toBe(secret.reveal())
      expect(rotated.seal(secret, OWNER).split('.')[0]).toBe(active_id)
    }
    const lacking = createKeyring({ active_id: '2026', keys: new Map([['2026', fresh]]) })
    expect(() => lacking.unseal(sealed, OWNER)).toThrow('the key 2025 is not configured')
  })

  test('is not decrypted under another key of the same id', () => {
    const sealed = ring.seal(newSecret(), OWNER)
    const other = createKeyring({ active_id: '2025', keys: new Map([['2025', newKey()]]) })
    expect(() => other.unseal(sealed, OWNER)).toThrow()
  })

  // A6: nonces are random, so two texts must not share a key.
  test('has a key of its own, so the ciphertexts of one text have nothing in common', () => {
    const secret = new Secret('0'.repeat(64))
    const bodies = [1, 2].map(() => Buffer.from(ring.seal(secret, OWNER).slice(5), 'base64url'))
    const [first, second] = bodies.map((bytes) => bytes.subarray(0, 24).toString('hex'))
    expect(first).not.toBe(second)
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

function failure(work: () => unknown): unknown {
  try {
    return work()
  } catch (error) {
    return error
  }
}
