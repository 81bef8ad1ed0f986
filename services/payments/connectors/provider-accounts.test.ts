import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { ConfigError } from '#lib/base/config/config.ts'
import { Secret } from '#lib/base/crypto/secret.ts'
import { allowAnyAddress } from '#lib/http/address-policy.ts'
import { createHttpClient } from '#lib/http/client.ts'
import { connectAccount } from './connect-account.ts'
import { createFindAccount } from './find-account.ts'
import type { ProviderAccount } from './provider-account.ts'
import { readProviderAccounts } from './provider-accounts.ts'

const KEY = 'k'.repeat(32)
const sources = {
  sandbox_url: 'http://127.0.0.1:9092/',
  sandbox_key: new Secret('sandbox key'),
  providers_file: undefined,
}
const acme = {
  account_id: 'acme',
  connector: 'http',
  environment: 'production',
  base_url: 'https://acme.example/api',
  key_env: 'ACME_KEY',
}
let directory: string

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'multihub-accounts-'))
})

afterAll(() => rm(directory, { recursive: true }))

function keyOf(accounts: readonly ProviderAccount[], id: string): string | undefined {
  return accounts.find(({ account_id }) => account_id === id)?.credentials['key']?.reveal()
}

async function read(content: unknown, variables: Record<string, string> = { ACME_KEY: KEY }) {
  const providers_file = join(directory, 'providers.json')
  await writeFile(providers_file, typeof content === 'string' ? content : JSON.stringify(content))
  return readProviderAccounts({ ...sources, providers_file }, variables)
}

async function problemsOf(content: unknown, variables?: Record<string, string>): Promise<readonly string[]> {
  const error = await read(content, variables).catch((error: unknown) => error)
  if (!(error instanceof ConfigError)) throw new Error('a ConfigError was expected', { cause: error })
  return error.problems
}

describe('accounts', () => {
  test('of the sandbox exist only when its key is configured', async () => {
    const accounts = readProviderAccounts(sources, {})
    expect(accounts.map(({ base_url }) => base_url)).toEqual(['http://127.0.0.1:9092', 'http://127.0.0.1:1'])
    expect(readProviderAccounts({ ...sources, sandbox_key: undefined }, {})).toEqual([])
  })

  // R7
  test('have keys from variables, from files, and never from settings', async () => {
    const path = join(directory, 'key')
    await writeFile(path, `${KEY}\n`)
    const accounts = await read({ accounts: [acme] }, { ACME_KEY_FILE: path })
    expect(keyOf(accounts, 'acme')).toBe(KEY)
    expect(await problemsOf({ accounts: [acme] }, { ACME_KEY_FILE: `${path}s` })).toContain(
      'ACME_KEY_FILE cannot be read (ENOENT)',
    )
    const misnamed = { ...acme, key_env: 'MULTIHUB_MASTER_KEYS' }
    expect(await problemsOf({ accounts: [misnamed] }, { MULTIHUB_MASTER_KEYS: KEY })).toEqual([
      'MULTIHUB_PROVIDERS_FILE accounts.0.key_env: must not begin with MULTIHUB_, as settings do',
    ])
  })

  test('are found in their own environment only', async () => {
    const accounts = await read({ accounts: [acme] })
    const http = createHttpClient({ allow: allowAnyAddress })
    const findAccount = createFindAccount(accounts.map((account) => connectAccount(account, http)))
    expect(findAccount('acme', 'production')?.account.connector).toBe('http')
    expect(findAccount('acme', 'test')).toBeUndefined()
    expect(findAccount('sandbox', 'test')?.account.connector).toBe('sandbox')
    expect(findAccount('sandbox', 'production')).toBeUndefined()
    expect(findAccount('toString', 'test')).toBeUndefined()
    await http.close()
  })
})

describe('a file of accounts', () => {
  test('reports all problems at once, with their paths and without their values', async () => {
    const { key_env: _, ...keyless } = acme
    const problems = await problemsOf({
      accounts: [
        { ...acme, account_id: 'No Good', base_url: 'ftp://x', extra: 1 },
        { ...keyless, key: 'too short' },
        { ...acme, base_url: 'https://user:hunter2@acme.example' },
      ],
      more: true,
    })
    const text = problems.join('\n')
    for (const path of [
      'accounts.0.account_id',
      'accounts.0.base_url',
      'accounts.1.key',
      'accounts.2.base_url',
    ]) {
      expect(text).toContain(`MULTIHUB_PROVIDERS_FILE ${path}: `)
    }
    expect(text).toContain('extra')
    expect(text).toContain('more')
    expect(text).not.toMatch(/too short|hunter2/)
  })

  test.each([
    ['production over http', { ...acme, base_url: 'http://acme.example' }, 'accounts.0.base_url'],
    ['the sandbox in production', { ...acme, connector: 'sandbox' }, 'accounts.0.connector'],
    ['two keys', { ...acme, key: KEY }, 'accounts.0.key'],
    ['the id of a built-in account', { ...acme, account_id: 'sandbox' }, 'accounts.0.account_id'],
    ['a variable that is not set', { ...acme, key_env: 'NOT_SET' }, 'accounts.0.key_env'],
    ['a credential that another connector has', { ...acme, token: KEY }, 'accounts.0'],
    ['settings that the connector does not have', { ...acme, settings: { a: 1 } }, 'accounts.0.settings'],
    ['a connector that does not exist', { ...acme, connector: 'toString' }, 'accounts.0.connector'],
    ['a query in its URL', { ...acme, base_url: 'https://acme.example/?a=1' }, 'accounts.0.base_url'],
  ])('refuses %s', async (_what, account, path) => {
    expect(await problemsOf({ accounts: [account] })).toEqual([
      expect.stringContaining(`MULTIHUB_PROVIDERS_FILE ${path}: `),
    ])
  })

  // spec: What the service does, 7
  test.each([
    ['the same URL', { base_url: 'https://acme.example/api/' }, 'accounts.1.base_url'],
    ['the same URL in another spelling', { base_url: 'https://ACME.example:443/api' }, 'accounts.1.base_url'],
    ['a URL below the other one', { base_url: 'https://acme.example/api/test' }, 'accounts.1.base_url'],
    ['a URL above the other one', { base_url: 'https://acme.example' }, 'accounts.1.base_url'],
    ['the same key', { base_url: 'https://acme.example/apitest', key: KEY }, 'accounts.1.key'],
  ])('refuses test and production accounts with %s', async (_what, changes, path) => {
    const { key_env: _, ...keyless } = acme
    const test_account = {
      ...keyless,
      account_id: 'acme-test',
      environment: 'test',
      key: 't'.repeat(32),
      ...changes,
    }
    const refused = [expect.stringContaining(`MULTIHUB_PROVIDERS_FILE ${path}: `)]
    expect(await problemsOf({ accounts: [acme, test_account] })).toEqual(refused)
    expect(await problemsOf({ accounts: [test_account, acme] })).toEqual(refused)
  })

  test('accepts test and production accounts with different URLs and keys', async () => {
    const { key_env: _, ...keyless } = acme
    const test_account = {
      ...keyless,
      account_id: 'acme-test',
      environment: 'test',
      base_url: 'https://acme.example/apitest',
      key: 't'.repeat(32),
    }
    expect(await read({ accounts: [acme, test_account] })).toHaveLength(4)
  })

  test('with invalid JSON is reported without its content', async () => {
    expect(await problemsOf(`{"key": "${KEY}`)).toEqual(['MULTIHUB_PROVIDERS_FILE cannot be read: not JSON'])
  })

  test('is reported when it does not exist', () => {
    const read = () =>
      readProviderAccounts({ ...sources, providers_file: join(directory, 'absent.json') }, {})
    expect(read).toThrow(/MULTIHUB_PROVIDERS_FILE cannot be read: .*ENOENT/)
  })
})
