import { createHash, createHmac } from 'node:crypto'
import { describe, expect, test } from '@jest/globals'
import fc from 'fast-check'
import { isUuid } from '../ids.ts'
import { constantTimeEqual, hmacHex, idFromHash, sha256Hex, sha512WithSecret, uuidFromHash } from './hash.ts'
import { Secret } from './secret.ts'

const bytes = fc.uint8Array()
const text = fc.string({ unit: 'grapheme' })

describe('hashes', () => {
  test('the v1 hash is SHA-512 of the body and then the secret, without a separator', () => {
    fc.assert(
      fc.property(bytes, text, (body, secret) => {
        const expected = createHash('sha512').update(body).update(secret).digest('hex')
        expect(sha512WithSecret(body, new Secret(secret))).toBe(expected)
      }),
    )
  })

  test('match published test vectors', () => {
    expect(sha256Hex('abc')).toBe('ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad')
    // RFC 4231, test case 2.
    const key = new Secret('Jefe')
    expect(hmacHex('sha256', key, 'what do ya want for nothing?')).toBe(
      '5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843',
    )
    expect(hmacHex('sha512', key, Buffer.from('what do ya want for nothing?'))).toBe(
      createHmac('sha512', 'Jefe').update('what do ya want for nothing?').digest('hex'),
    )
  })

  test('constantTimeEqual compares texts of any length', () => {
    fc.assert(fc.property(text, text, (a, b) => expect(constantTimeEqual(a, b)).toBe(a === b)))
    fc.assert(fc.property(text, (a) => expect(constantTimeEqual(a, a)).toBe(true)))
  })
})

test('the UUID of a hash begins with its time, has version 8 and its variant, and goes on with the hash', () => {
  const at = new Date('2026-11-22T10:00:00.001Z')
  const hash = sha256Hex('one')
  const uuid = uuidFromHash(hash, at)
  expect(uuid).toBe('01a202b2-c501-8769-ac3a-d3540bb803c0')
  expect(isUuid(uuid)).toBe(true)
  expect(uuidFromHash('f'.repeat(64), at)).toBe('01a202b2-c501-8fff-bfff-ffffffffffff')
  expect(uuidFromHash('0'.repeat(64), new Date(0))).toBe('00000000-0000-8000-8000-000000000000')
  expect(uuidFromHash('0'.repeat(64), new Date(-1))).toBe('00000000-0000-8000-8000-000000000000')
  expect(() => uuidFromHash('one', at)).toThrow(TypeError)
  expect(isUuid(idFromHash(hash))).toBe(true)
  expect(idFromHash(hash)).toBe(idFromHash(sha256Hex('one')))
  expect(idFromHash(hash)).not.toBe(idFromHash(sha256Hex('two')))
})
