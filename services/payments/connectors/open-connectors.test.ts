import { expect, jest, test } from '@jest/globals'
import { Secret } from '#lib/base/crypto/secret.ts'
import { log } from '#lib/telemetry/log.ts'
import { HANG_LIMIT_MS } from '../../../test/support/hang-limit.ts'
import { answerNoName } from '../../../test/support/name-server.ts'
import { connectAccount, openConnectors } from './connect-account.ts'
import { newAccount } from './provider-account.ts'

test('the names of providers are those of the operating system: no name server is asked directly', async () => {
  using asked = answerNoName()
  const sandbox_url = 'http://no-such-host.invalid'
  const settings = { sandbox_url, sandbox_key: new Secret('k'.repeat(32)), providers_file: undefined }
  const { accounts, close } = openConnectors(settings, { variables: {} })
  const warn = jest.spyOn(log, 'warn')
  const operation = { kind: 'deposit', idempotency_key: 'payment-1:2' } as const
  for (const { connector } of accounts)
    expect(await connector.lookUp(operation, HANG_LIMIT_MS)).toMatchObject({ kind: 'unknown' })
  expect(accounts.length).toBeGreaterThan(0)
  // Each failed call is one warning, which names the payment.
  const fields = { payment_id: 'payment-1', provider_account: accounts[0]?.account.account_id }
  expect(warn.mock.calls).toEqual(
    accounts.map(() => [
      expect.objectContaining({ outcome: 'unknown', operation: 'look_up' }),
      expect.anything(),
    ]),
  )
  expect(warn.mock.calls[0]?.[0]).toMatchObject(fields)
  expect(asked.names).toEqual([])
  await close()
})

// P4
test('an account is identified by its connector, its canonical base URL and its identity, and by no secret', () => {
  const unused = { request: () => Promise.reject(new Error('unused')), close: async () => {} }
  const fingerprint = (
    changes: { connector?: string; base_url?: string; token?: string; code?: string } = {},
  ) => {
    const { connector = 'form', base_url = 'https://a.example/v1', token = 't', code = 'SHOP' } = changes
    const credentials = { token: new Secret(token.repeat(32)), key: new Secret(token.repeat(32)) }
    const settings = { merchant_code: code }
    return connectAccount(
      newAccount('test', { account_id: 'a', connector, base_url, credentials, settings }),
      unused,
    ).fingerprint
  }
  const same = fingerprint()
  expect(fingerprint({ base_url: 'HTTPS://A.example:443/v1/' })).toBe(same)
  expect(fingerprint({ token: 'u' })).toBe(same)
  const others = [{ connector: 'http' }, { base_url: 'https://a.example/v2' }, { code: 'OTHER' }].map(
    fingerprint,
  )
  expect(new Set([same, ...others]).size).toBe(4)
})
