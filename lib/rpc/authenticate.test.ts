import type { PeerCertificate } from 'node:tls'
import { describe, expect, test } from '@jest/globals'
import { sha256Hex } from '#lib/base/crypto/hash.ts'
import { createCallerAuthenticator } from './credentials.ts'

const authenticate = createCallerAuthenticator(
  [
    { name: 'gateway', sha256: sha256Hex('old') },
    { name: 'gateway', sha256: sha256Hex('new') },
    { name: 'backoffice', sha256: sha256Hex('opener') },
  ],
  [
    { name: 'payments', identity: 'payments.shop.svc' },
    { name: 'notifier', identity: 'spiffe://shop/notifier' },
    { name: 'balances', identity: 'the ledger' },
  ],
)

function certificate(subjectaltname: string | undefined, common_name = 'somebody'): PeerCertificate {
  return { subject: { CN: common_name }, subjectaltname } as PeerCertificate
}

const byToken = (authorization: string): string | undefined =>
  authenticate({ authorization, certificate: () => certificate('DNS:payments.shop.svc') })

const byCertificate = (shown: PeerCertificate | undefined): string | undefined =>
  authenticate({ authorization: undefined, certificate: () => shown })

describe('a token', () => {
  test('identifies its caller, whether it is the old or the new one', () => {
    expect(['Bearer old', 'bearer new', 'Bearer opener'].map(byToken)).toEqual([
      'gateway',
      'gateway',
      'backoffice',
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
  ])('%p identifies no caller, even with a valid certificate', (authorization) => {
    expect(byToken(authorization)).toBeUndefined()
  })
})

describe('a certificate', () => {
  test('identifies its caller by a DNS name, a URI or its common name', () => {
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
  ])('with the names %p identifies no caller', (names) => {
    expect(byCertificate(certificate(names))).toBeUndefined()
  })

  test('that is missing identifies no caller', () => {
    expect(byCertificate(undefined)).toBeUndefined()
  })
})
