import { describe, expect, test } from '@jest/globals'
import fc from 'fast-check'
import { propertyRuns } from '../../test/support/property-runs.ts'
import { allowPublicAddressesAnd } from './address-policy.ts'
import { type CallbackUrlCheck, checkCallbackUrl } from './callback-url.ts'

const check = (text: string, allow: readonly string[] = []): CallbackUrlCheck =>
  checkCallbackUrl(text, { environment: 'test', allow: allowPublicAddressesAnd(allow) })

// N9
describe('a callback URL is accepted', () => {
  test.each([
    'https://example.com',
    'http://example.com/hook',
    'HTTPS://Example.COM:443/Hook?merchant=1&x=%20',
    'https://hooks.shop.example.co.uk:8443/a/b;c=d?e=%20',
    'https://my_shop.example.com/',
    'https://xn--bcher-kva.example/',
    'https://93.184.215.14/hook',
    'https://93.184.215.14:1024/',
    'https://[2606:4700::6810:84e5]/',
    'https://example.com:80/',
    'https://example.com:/',
    'https://example.com?a=b',
    'https://example.com/@user',
    `https://example.com/${'a'.repeat(2048 - 20)}`,
  ])('%s', (text) => {
    expect(check(text)).toMatchObject({ ok: true })
  })

  test('with a private address that the policy permits', () => {
    const allow = ['127.0.0.1/32', '10.0.0.0/8']
    expect(check('http://127.0.0.1:8080/hook', allow)).toMatchObject({ ok: true })
    expect(check('http://10.1.2.3/', allow)).toMatchObject({ ok: true })
    expect(check('http://127.0.0.2/', allow)).toMatchObject({ ok: false })
    expect(check('http://[::1]/', allow)).toMatchObject({ ok: false })
    expect(check('http://x.localhost/', allow)).toMatchObject({ ok: false })
  })

  test('with the name localhost where 127.0.0.1 is permitted', () => {
    expect(check('http://localhost:8099/hook', ['127.0.0.0/8'])).toMatchObject({ ok: true })
    expect(check('http://LOCALHOST:8099/', ['127.0.0.0/8'])).toMatchObject({ ok: true })
    expect(check('http://localhost.:8099/', ['127.0.0.0/8'])).toMatchObject({ ok: false })
    expect(check('http://localhost:22/', ['127.0.0.0/8'])).toMatchObject({ ok: false })
    expect(check('http://localhost/', ['10.0.0.0/8'])).toMatchObject({ ok: false })
  })

  test('in production with https only', () => {
    const production = { environment: 'production', allow: allowPublicAddressesAnd([]) } as const
    expect(checkCallbackUrl('https://example.com/', production)).toMatchObject({ ok: true })
    expect(checkCallbackUrl('http://example.com/', production)).toMatchObject({ ok: false })
  })
})

/** The words of a text, which white space separates. */
const wordsOf = (text: string): string[] => text.trim().split(/\s+/)

const LOOPBACK_SPELLINGS = wordsOf(`
  127.0.0.1 127.1 127.0.1 0x7f.1 0x7f000001 2130706433 017700000001 0177.0.0.1 ①②⑦.⓪.⓪.① 127。0。0。1
  127.0.0.1. 127.00.0.1 0 0.0.0.0 [::1] [::] [0:0:0:0:0:0:0:1] [::ffff:127.0.0.1] [::ffff:7f00:1]
  [::127.0.0.1] [64:ff9b::7f00:1] [64:ff9b::127.0.0.1] [2002:7f00:1::] %31%32%37.0.0.1 127%2e0.0.1
`)

const PRIVATE_ADDRESSES = wordsOf(`
  0.1.2.3 10.0.0.1 100.64.0.1 127.255.255.254 169.254.169.254 172.16.0.1 172.31.255.255 192.0.0.1
  192.0.2.1 192.88.99.1 192.168.0.1 198.18.0.1 198.19.255.255 198.51.100.1 203.0.113.1 224.0.0.1
  240.0.0.1 255.255.255.255 100.100.100.200 168.63.129.16 [fe80::1] [fe80::1%25eth0] [fc00::1]
  [fd00:ec2::254] [4000::1] [::1:2:3] [ff02::1] [2001:db8::1] [2001::1] [100::1] [fec0::1]
  [::ffff:10.0.0.1] [2002:a00:1::]
`)

const PRIVATE_OR_INVALID_NAMES = [
  ...wordsOf(`
  localhost localhost. LOCALHOST x.localhost intranet a router.local db.internal api.svc
  api.default.svc.cluster.local printer.home.arpa hidden.onion shop.test x.invalid example.com. a..b
  -x.com x-.com .com com. 1.2.3.4.5 256.1.1.1 exa%6dple.com example.com%00 пример.рф example.com%2e
`),
  `${'a'.repeat(64)}.com`,
  `${'a.'.repeat(140)}com`,
]

const INVALID_URLS = [
  '',
  ' ',
  'example.com',
  '//example.com',
  '/hook',
  'http:',
  'http://',
  'https:///example.com',
  'https:example.com',
  'https:\\\\example.com',
  'https://example.com\\@127.0.0.1',
  'https://example.com/\\..',
  'https:/example.com',
  'file:///etc/passwd',
  'gopher://example.com/',
  'ftp://example.com/',
  'data:text/plain,x',
  'javascript:alert(1)',
  'ws://example.com/',
  'blob:https://example.com/x',
  'https://user@example.com/',
  'https://user:pass@example.com/',
  'https://@example.com/',
  'https://:@example.com/',
  'https://example.com#part',
  'https://example.com/#',
  'https://example.com@127.0.0.1/',
  'https://127.0.0.1#@example.com/',
  'https://127.0.0.1?@example.com/',
  ' https://example.com/',
  'https://example.com/ ',
  'https://exam\tple.com/',
  'https://example.com/\n',
  'https://example.com/\r\nX-Header: 1',
  'https://example.com/\u0000',
  'https://example.com/a b',
  'https://example.com/%00',
  'https://example.com/%0d%0aX',
  'ht\ntps://a.com/',
  'https://example.com/ü',
  'https://example.com/\ud800',
  'https://example.com/\u202e',
  '\ufeffhttps://example.com/',
  'https://[::1',
  'https://[]/',
  'https://[1.2.3.4]/',
  'https://example.com:-1/',
  'https://example.com:65536/',
  'https://example.com:8080:80/',
  'https://example.com:8o80/',
  'https://example.com:٨٠/',
  'http://[::1%25lo]/',
  `https://example.com/${'a'.repeat(2048 - 19)}`,
  `https://example.com/${'a'.repeat(100_000)}`,
]

// N9
describe('a callback URL is refused', () => {
  test.each(LOOPBACK_SPELLINGS)('with loopback written as %s', (host) => {
    expect(check(`http://${host}/`)).toMatchObject({ ok: false })
    expect(check(`https://${host}:8443/x?y`)).toMatchObject({ ok: false })
  })

  test.each(PRIVATE_ADDRESSES)('with the address %s', (host) => {
    expect(check(`http://${host}/`)).toMatchObject({ ok: false })
  })

  test.each(PRIVATE_OR_INVALID_NAMES)('with the name %s', (host) => {
    expect(check(`http://${host}/`)).toMatchObject({ ok: false })
  })

  test.each(INVALID_URLS.map((text) => [JSON.stringify(text.slice(0, 60)), text]))(
    'that is written %s',
    (_shown, text) => {
      expect(check(text)).toMatchObject({ ok: false })
    },
  )

  test.each([0, 1, 21, 22, 25, 53, 81, 442, 444, 1023, 2375, 3306, 5432, 6379, 9200, 11211, 27017])(
    'with port %i',
    (port) => {
      expect(check(`https://example.com:${port}/`)).toMatchObject({ ok: false })
      expect(check(`https://example.com:0${port}/`)).toMatchObject({ ok: false })
    },
  )
})

describe('for random input', () => {
  const part = fc.oneof(
    fc.constantFrom(
      'http',
      'https',
      '://',
      ':',
      '/',
      '\\',
      '@',
      '#',
      '?',
      '%',
      '[',
      ']',
      '.',
      '127.0.0.1',
      '\t',
    ),
    fc.constantFrom('localhost', 'example.com', '::1', '0x7f', '\u3002', '%2e', ':80', 'user', '\u0000', '1'),
    fc.string({ maxLength: 8, unit: 'binary' }),
  )
  const anything = fc.array(part, { maxLength: 12 }).map((parts) => parts.join(''))

  test('an accepted URL has its host and nothing hidden in its text', () => {
    fc.assert(
      fc.property(
        fc.oneof(
          anything,
          anything.map((rest) => `https://${rest}`),
        ),
        (text) => {
          const checked = check(text)
          if (!checked.ok) return
          const { url } = checked
          expect(text).toMatch(/^https?:\/\/[\x21-\x7e]+$/i)
          expect(`${url.username}${url.password}${url.hash}`).toBe('')
          expect(text.slice(text.indexOf('://') + 3).toLowerCase()).toMatch(
            new RegExp(`^${url.hostname.replace(/[.[\]]/g, '\\$&')}(?=[:/?]|$)`),
          )
          expect(url.hostname).not.toMatch(/^127(\.\d+){3}$|(^|\.)localhost$|^\[::1\]$/)
        },
      ),
      { numRuns: propertyRuns(5_000) },
    )
  })

  test('a private IPv4 address is refused in every spelling', () => {
    const octet = fc.integer({ min: 0, max: 255 })
    const spelled = (value: number, base: number): string =>
      base === 16 ? `0x${value.toString(16)}` : base === 8 ? `0${value.toString(8)}` : String(value)
    const base = fc.constantFrom(8, 10, 16)
    fc.assert(
      fc.property(octet, octet, octet, fc.array(base, { minLength: 4, maxLength: 4 }), (a, b, c, bases) => {
        const [first = 10, second = 10, third = 10, fourth = 10] = bases
        const dotted = [spelled(10, first), spelled(a, second), spelled(b, third), spelled(c, fourth)].join(
          '.',
        )
        const whole = spelled(((10 * 256 + a) * 256 + b) * 256 + c, first)
        for (const host of [dotted, whole]) expect(check(`http://${host}/`)).toMatchObject({ ok: false })
      }),
    )
  })
})
