import { expect, test } from '@jest/globals'
import { Secret } from '#lib/base/crypto/secret.ts'
import { HANG_LIMIT_MS } from '../../../test/support/hang-limit.ts'
import { answerNoName } from '../../../test/support/name-server.ts'
import { openConnectors } from './connect-account.ts'

test('the names of providers are those of the operating system: no name server is asked directly', async () => {
  using asked = answerNoName()
  const sandbox_url = 'http://no-such-host.invalid'
  const settings = { sandbox_url, sandbox_key: new Secret('k'.repeat(32)), providers_file: undefined }
  const { accounts, close } = openConnectors(settings, {})
  const operation = { kind: 'deposit', idempotency_key: 'k1' } as const
  for (const { connector } of accounts)
    expect(await connector.lookUp(operation, HANG_LIMIT_MS)).toMatchObject({ kind: 'unknown' })
  expect(accounts.length).toBeGreaterThan(0)
  expect(asked.names).toEqual([])
  await close()
})
