import { expect, test } from '@jest/globals'
import { ConfigError } from '#lib/base/config/config.ts'
import { createProviderCallbackBaseUrl } from './provider-callback-base-url.ts'

const settings = (host: string, public_url?: string, sandbox_callback_url?: string) => ({
  host,
  public_url,
  sandbox_callback_url,
})
const at = (base_url: string) => ({ account: { account_id: 'acme', base_url, is_simulated: false } })
const simulated = (base_url: string) => ({ account: { account_id: 'sandbox', base_url, is_simulated: true } })
const SANDBOX = simulated('http://127.0.0.1:9092')
const ACME = at('https://acme.example/api')

test('is the configured URL, whatever the host', () => {
  const baseUrlFor = createProviderCallbackBaseUrl(settings('0.0.0.0', 'https://cb.example'), [ACME, SANDBOX])
  for (const id of ['acme', 'sandbox']) expect(baseUrlFor(id)).toBe('https://cb.example')
})

test('the sandbox can have a URL of its own', () => {
  const both = settings('0.0.0.0', 'https://cb.example', 'http://payments:9093')
  const remote = simulated('http://sandbox:9092')
  const baseUrlFor = createProviderCallbackBaseUrl(both, [ACME, remote])
  expect(baseUrlFor('acme')).toBe('https://cb.example')
  expect(baseUrlFor('sandbox')).toBe('http://payments:9093')
  const own = settings('0.0.0.0', undefined, 'http://payments:9093')
  expect(createProviderCallbackBaseUrl(own, [remote])('sandbox')).toBe('http://payments:9093')
  expect(() => createProviderCallbackBaseUrl(own, [remote, ACME])).toThrow(ConfigError)
})

test('is the listening address when providers can reach it', () => {
  expect(createProviderCallbackBaseUrl(settings('10.0.0.5'), [ACME])('acme')).toBeUndefined()
  for (const url of [
    'http://127.0.0.1:9092',
    'http://localhost:1',
    'http://[::1]:9092/x',
    'http://a.localhost',
  ])
    expect(createProviderCallbackBaseUrl(settings('0.0.0.0'), [at(url)])('acme')).toBeUndefined()
})

// R2
test.each(['0.0.0.0', '::'])('%s is never given to a provider that runs elsewhere', (host) => {
  for (const account of [
    ACME,
    simulated('http://sandbox:9092'),
    at('http://127.example.com'),
    at('http://10.0.0.1'),
  ])
    expect(() => createProviderCallbackBaseUrl(settings(host), [SANDBOX, account])).toThrow(ConfigError)
  expect(() => createProviderCallbackBaseUrl(settings(host), [ACME])).toThrow(
    /MULTIHUB_PROVIDER_URL is missing/,
  )
})
