import { describe, expect, test } from '@jest/globals'
import fc from 'fast-check'
import { newSecret } from '#lib/base/crypto/secret.ts'
import { testWith } from '../../../test/support/needs.ts'
import { opensslHmac, opensslSha512 } from '../../../test/support/openssl.ts'
import { signDelivery } from './sign-delivery.ts'

const AT = new Date('2026-11-21T10:00:00.007Z')
const ID = '019aa5b0-7c00-7000-8000-000000000001'

describe('the headers of a delivery', () => {
  testWith('openssl')('contain the three signatures that openssl computes', () => {
    const bodies = [
      Buffer.from('{}'),
      Buffer.from('{"id":"é\u{1F600}","spaces":" \\n "}'),
      Buffer.from([0, 255, 10, 13]),
      Buffer.alloc(0),
    ]
    for (const body of bodies) {
      const secret = newSecret()
      const key = secret.reveal()
      const headers = signDelivery(body, secret, ID, AT)
      const timestamp = headers['X-Webhook-Timestamp'] ?? ''
      const nonce = headers['X-Webhook-Nonce'] ?? ''
      const signed = Buffer.concat([Buffer.from(`${timestamp}.${nonce}.${ID}.`), body])
      expect(headers['X-Data-Hash']).toBe(opensslSha512(Buffer.concat([body, Buffer.from(key)])))
      expect(headers['X-Webhook-Signature-V2']).toBe(
        opensslSha512(Buffer.concat([Buffer.from(timestamp), body, Buffer.from(key)])),
      )
      expect(headers['X-Webhook-Signature-V3']).toBe(opensslHmac('sha512', key, signed))
    }
  })

  test('are exactly these, and do not contain the secret', () => {
    const secret = newSecret()
    const headers = signDelivery(Buffer.from('{}'), secret, ID, AT)
    expect(headers).toEqual({
      'Content-Type': 'application/json',
      'X-Data-Hash': expect.stringMatching(/^[0-9a-f]{128}$/),
      'X-Webhook-Id': ID,
      'X-Webhook-Timestamp': '2026-11-21T10:00:00.007Z',
      'X-Webhook-Nonce': expect.stringMatching(/^[0-9a-f]{32}$/),
      'X-Webhook-Signature-V2': expect.stringMatching(/^[0-9a-f]{128}$/),
      'X-Webhook-Signature-V3': expect.stringMatching(/^[0-9a-f]{128}$/),
    })
    expect(JSON.stringify(headers)).not.toContain(secret.reveal())
  })

  test('have a new nonce and V3 signature for every attempt, even at the same instant', () => {
    const secret = newSecret()
    const [first, second] = [1, 2].map(() => signDelivery(Buffer.from('{}'), secret, ID, AT))
    expect(first?.['X-Webhook-Nonce']).not.toBe(second?.['X-Webhook-Nonce'])
    expect(first?.['X-Webhook-Signature-V3']).not.toBe(second?.['X-Webhook-Signature-V3'])
  })

  test('have another V3 signature when any signed value differs', () => {
    const secret = newSecret()
    const nonce = '0'.repeat(32)
    const base = signDelivery(Buffer.from('ab'), secret, ID, AT, nonce)
    const different = [
      signDelivery(Buffer.from('ac'), secret, ID, AT, nonce),
      signDelivery(Buffer.from('ab'), newSecret(), ID, AT, nonce),
      signDelivery(Buffer.from('ab'), secret, ID.replace('1', '2'), AT, nonce),
      signDelivery(Buffer.from('ab'), secret, ID, new Date(AT.getTime() + 1), nonce),
      signDelivery(Buffer.from('ab'), secret, ID, AT, '1'.repeat(32)),
    ]
    for (const headers of different) {
      expect(headers['X-Webhook-Signature-V3']).not.toBe(base['X-Webhook-Signature-V3'])
    }
    fc.assert(
      fc.property(fc.uint8Array(), (body) => {
        const again = signDelivery(body, secret, ID, AT, nonce)
        expect(signDelivery(body, secret, ID, AT, nonce)).toEqual(again)
      }),
    )
  })
})
