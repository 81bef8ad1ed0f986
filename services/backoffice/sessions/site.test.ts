import { expect, test } from '@jest/globals'
import { createSite, type ReadHeader } from './site.ts'

const headers =
  (values: Readonly<Record<string, string>>): ReadHeader =>
  (name) =>
    values[name]

const PUBLIC_URL = 'https://backoffice.example'
/** Behind a proxy that speaks TLS, and with TLS of its own. */
const behind_proxy = createSite({ url: PUBLIC_URL, has_tls: false })
const with_tls = createSite({ url: undefined, has_tls: true })
const plain = createSite({ url: undefined, has_tls: false })

const session = (site: typeof plain, host: string): string =>
  site.setCookie('session', headers({ host }), { value: 'mhs_a', max_seconds: 60 })

// O21
test('with TLS, also of a proxy, a cookie is for this host alone and never sent without TLS', () => {
  for (const cookie of [session(behind_proxy, 'backoffice.example'), session(with_tls, '10.0.0.7')])
    expect(cookie).toBe(
      '__Host-multihub-session=mhs_a; Path=/; HttpOnly; SameSite=Strict; Max-Age=60; Secure',
    )
  const planted = headers({ host: 'backoffice.example', cookie: 'multihub-session-443=mhs_planted' })
  expect(behind_proxy.cookie('session', planted)).toBeUndefined()
})

// O21
test('without TLS, the cookies of two ports of a host do not meet', () => {
  expect(session(plain, 'localhost:8450')).toMatch(/^multihub-session-8450=mhs_a; .*Max-Age=60$/)
  const cookie = 'multihub-session-8450=mhs_a; multihub-session-9000=mhs_b'
  expect(plain.cookie('session', headers({ host: 'localhost:9000', cookie }))).toBe('mhs_b')
})

// O21: after DNS rebinding, the page of an attacker has the origin that it names as the host.
test.each([
  [behind_proxy, 'backoffice.example', 'https'],
  [with_tls, '10.0.0.7:8450', 'https'],
  [plain, 'localhost:8450', 'http'],
  [plain, '[::1]:8450', 'http'],
] as const)('%#: a site answers its own host and origin only: %s', (site, host, scheme) => {
  const demand = (values: Readonly<Record<string, string>>) => () => site.demandOwnPage(headers(values))
  const own = { host, origin: `${scheme}://${host}`, 'x-multihub-csrf': '1' }
  demand(own)()
  for (const other of ['evil.example', 'evil.example:8450', 'localhost.evil.example', ''])
    expect(demand({ ...own, host: other, origin: `${scheme}://${other}` })).toThrow('browsers reach')
  for (const origin of [
    `${scheme}://evil.example`,
    `${scheme === 'https' ? 'http' : 'https'}://${host}`,
    'null',
  ])
    expect(demand({ ...own, origin })).toThrow('another site')
})

// O21
test('another host than the configured one is refused, also an IP address', () => {
  for (const host of ['127.0.0.1:8450', 'localhost', 'backoffice.example:8450'])
    expect(() => behind_proxy.demandOwnHost(headers({ host }))).toThrow(PUBLIC_URL)
})
