import type { PeerCertificate } from 'node:tls'
import { describe, expect, test } from '@jest/globals'
import { sha256Hex } from '#lib/platform/crypto/hash.ts'
import { createCallerAuthenticator } from './authenticate.ts'

const authenticate = createCallerAuthenticator(
  [
    { name: 'gateway', sha256: sha256Hex('old') },
    { name: 'gateway', sha256: sha256Hex('new') },
    { name: 'operator', sha256: sha256Hex('opener') },
  ],
  [
    { name: 'payments', identity: 'payments.shop.svc' },
    { name: 'notifier', identity: 'spiffe://shop/notifier' },
    { name: 'balances', identity: 'the ledger' },
  ],
)

function certificate(subjectaltname: string | undefined, CN = 'somebody'): PeerCertificate {
  return { subject: { CN }, subjectaltname } as PeerCertificate
}

const byToken = (authorization: string): string | undefined =>
  authenticate({ authorization, certificate: () => certificate('DNS:payments.shop.svc') })

const byCertificate = (shown: PeerCertificate | undefined): string | undefined =>
  authenticate({ authorization: undefined, certificate: () => shown })

describe('a token', () => {
  test('proves its caller, the old one and the new one alike', () => {
    expect(['Bearer old', 'bearer new', 'Bearer opener'].map(byToken)).toEqual([
      'gateway',
      'gateway',
      'operator',
    ])
  })

  test.each([
    '',
    'old',
    'Bearer',
    'Bearer ',
    'Bearer  old',
    'Bearer old ',
    'Basic old',
    'Bearer old, Bearer old',
    'Bearer old, ',
    ', Bearer old',
    `Bearer ${sha256Hex('old')}`,
  ])('%p proves nobody, whatever the certificate says', (authorization) => {
    expect(byToken(authorization)).toBeUndefined()
  })
})

describe('a certificate', () => {
  test('proves its caller by a DNS name, a URI or its common name', () => {
    expect(byCertificate(certificate('DNS:other, DNS:payments.shop.svc'))).toBe('payments')
    expect(byCertificate(certificate('URI:spiffe://shop/notifier'))).toBe('notifier')
    expect(byCertificate(certificate(undefined, 'the ledger'))).toBe('balances')
  })

  test.each([
    'email:payments.shop.svc',
    'DNS:payments.shop.svc.evil',
    'IP Address:payments.shop.svc',
    'DNS:"x, DNS:payments.shop.svc, DNS:y"',
    '',
  ])('with the names %p proves nobody', (names) => {
    expect(byCertificate(certificate(names))).toBeUndefined()
  })

  test('that is not there proves nobody', () => {
    expect(byCertificate(undefined)).toBeUndefined()
  })
})
