import { expect, test } from '@jest/globals'
import fc from 'fast-check'
import { testKeys } from '#lib/base/crypto/keys.fixture.ts'
import { type AttachmentLink, openLink, SEALED_LINK, sealLink } from './attachment-link.ts'

const keyring = testKeys().link
const LINK: AttachmentLink = {
  merchant_id: '7001',
  environment: 'test',
  attachment_id: '0199c0de-0000-7000-8000-000000000001',
  mime_type: 'image/png',
  size_bytes: 5,
  expires_at: new Date('2026-11-22T10:00:00.000Z'),
}

// F1, F6
test('a link gives back what it was made of, and shows none of it', () => {
  const sealed = sealLink(keyring, 'upload', LINK)
  expect(sealed).toMatch(SEALED_LINK)
  expect(openLink(keyring, 'upload', sealed)).toEqual(LINK)
  expect(Buffer.from(sealed.slice(3), 'base64url').toString('latin1')).not.toMatch(/7001|0199c0de|image/)
})

test('a link that was altered anywhere, or made for another use or by another key, is none', () => {
  const sealed = sealLink(keyring, 'download', LINK)
  expect(openLink(keyring, 'upload', sealed)).toBeUndefined()
  const stranger = testKeys('stranger').link
  expect(openLink(stranger, 'download', sealed)).toBeUndefined()
  // Base64 has spare bits in its last character, so only those before it are altered.
  fc.assert(
    fc.property(fc.nat(sealed.length - 2), fc.constantFrom('A', 'z', '9', '_', '.', '%'), (at, other) => {
      const altered = sealed.slice(0, at) + other + sealed.slice(at + 1)
      if (altered !== sealed) expect(openLink(keyring, 'download', altered)).toBeUndefined()
    }),
  )
  for (const text of ['', 'k1.', sealed.slice(0, -4), `${sealed}AAAA`, 'k1.__proto__'])
    expect(openLink(keyring, 'download', text)).toBeUndefined()
})
