import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { ConfigError } from '#lib/base/config/config.ts'
import { Secret } from '#lib/base/crypto/secret.ts'
import { Unavailable } from '#lib/contract/errors/unavailable.ts'
import { type Certificates, makeAuthority } from '../../test/support/certificates.ts'
import { HANG_LIMIT_MS } from '../../test/support/hang-limit.ts'
import { makeNatsAccounts } from '../../test/support/nats-accounts.ts'
import { describeWith } from '../../test/support/needs.ts'
import { startPrivateNats } from '../../test/support/servers.ts'
import type { Bus } from './bus.ts'
import type { NatsSecurity } from './nats-connection.ts'
import { openBus } from './open.ts'

const open = (url: string, security: NatsSecurity, limit_ms = 0): Promise<Bus> =>
  openBus({ nats_url: new Secret(url), name: 'test', prefix: 'test', security, start_wait: { limit_ms } })

/** Expects that the server accepts the client. A slow machine may need more than one connection attempt. */
async function expectAccepted(url: string, security: NatsSecurity): Promise<void> {
  const bus = await open(url, security, HANG_LIMIT_MS)
  await bus.close()
}

const folder = await mkdtemp(join(tmpdir(), 'multihub-nats-security-'))
const accounts = makeNatsAccounts()
const with_accounts = await startPrivateNats(accounts.server_config)
afterAll(async () => {
  if ('stop' in with_accounts) await with_accounts.stop()
  await rm(folder, { recursive: true })
})

if ('skip' in with_accounts) {
  const reason = with_accounts.skip
  process.stderr.write(`skipped: TLS and credentials of NATS: ${reason}\n`)
  test.skip(`TLS and credentials of NATS: ${reason}`, () => {})
} else {
  describeWith('openssl')('a server that requires TLS and client certificates', () => {
    let authority: Certificates
    let foreign: Certificates
    beforeAll(async () => {
      authority = await makeAuthority()
      foreign = await makeAuthority()
    })
    afterAll(async () => {
      await authority.remove()
      await foreign.remove()
    })

    test('accepts a client with the private authority and a certificate of it, and no other', async () => {
      const server = await authority.issue('localhost')
      const config = `tls { cert_file: "${server.certificate}", key_file: "${server.key}", ca_file: "${authority.ca}", verify: true }`
      const nats = await startPrivateNats(config)
      if ('skip' in nats) throw new Error(nats.skip)
      try {
        const own = await authority.issue('payments')
        const other = await foreign.issue('payments')
        const trusted = { authority: authority.ca }
        // The client of NATS checks names only, not IP addresses.
        const url = nats.url.replace('127.0.0.1', 'localhost')
        const tls_url = url.replace('nats:', 'tls:')
        for (const each of [url, tls_url]) await expectAccepted(each, { ...trusted, ...own })
        for (const security of [{}, trusted, { ...trusted, ...other }, { ...own, authority: foreign.ca }])
          await expect(open(tls_url, security)).rejects.toThrow(Unavailable)
      } finally {
        await nats.stop()
      }
    })
  })

  describe('a server that authenticates users by JWT', () => {
    const url = with_accounts.url
    test('accepts a client with a credentials file, whose last line end may be missing', async () => {
      for (const content of [accounts.credentials, accounts.credentials.trim()])
        await expectAccepted(url, { credentials: new Secret(content) })
    })

    test('gets no connection without TLS from a URL that asks for it', async () => {
      const credentials = new Secret(accounts.credentials)
      await expect(open(url.replace('nats:', 'tls:'), { credentials })).rejects.toThrow(Unavailable)
    })

    test('refuses other credentials and none at once, with a sentence that says what to correct', async () => {
      for (const security of [{}, { credentials: new Secret(makeNatsAccounts().credentials) }]) {
        await expect(open(url, security, HANG_LIMIT_MS)).rejects.toThrow(
          /refuses the credentials: correct NATS_URL or NATS_CREDENTIALS$/,
        )
      }
    })
  })
}

describe('settings that cannot be used are refused before a connection is tried', () => {
  test.each([
    [
      'a file that does not exist',
      { authority: join(folder, 'none') },
      'NATS_TLS_CA cannot be read (ENOENT)',
    ],
    [
      'a certificate without a key',
      { certificate: 'x' },
      'NATS_TLS_CERTIFICATE and NATS_TLS_KEY must be set together',
    ],
    [
      'credentials of another form',
      { credentials: new Secret('hush') },
      'NATS_CREDENTIALS must be the content of a NATS credentials file (.creds)',
    ],
  ])('%s', async (_, security, problem) => {
    await expect(open('nats://127.0.0.1:1', security)).rejects.toThrow(new ConfigError([problem]))
  })

  test('a file that is not PEM', async () => {
    const path = join(folder, 'text')
    await writeFile(path, 'text')
    await expect(open('nats://127.0.0.1:1', { authority: path })).rejects.toThrow(
      'NATS_TLS_CA must name a PEM file',
    )
  })
})
