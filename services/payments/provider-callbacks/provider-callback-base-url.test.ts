import { expect, test } from '@jest/globals'
import { ConfigError } from '#lib/platform/config/config.ts'
import { providerCallbackBaseUrl } from './provider-callback-base-url.ts'

const settings = (host: string, public_url?: string) => ({ host, public_url })
const SANDBOX = 'http://127.0.0.1:9092'
const ACME = 'https://acme.example/api'

test('is the configured URL, whatever the host', () => {
  expect(providerCallbackBaseUrl(settings('0.0.0.0', 'https://cb.example'), [ACME])).toBe(
    'https://cb.example',
  )
})

test('is the listening address when providers can reach it', () => {
  expect(providerCallbackBaseUrl(settings('10.0.0.5'), [ACME])).toBeUndefined()
  for (const local of [SANDBOX, 'http://localhost:1', 'http://[::1]:9092/x', 'http://a.localhost'])
    expect(providerCallbackBaseUrl(settings('0.0.0.0'), [local])).toBeUndefined()
})

// R2
test.each(['0.0.0.0', '::'])('%s is never given to a provider that runs elsewhere', (host) => {
  for (const url of [ACME, 'http://sandbox:9092', 'http://127.example.com', 'http://10.0.0.1'])
    expect(() => providerCallbackBaseUrl(settings(host), [SANDBOX, url])).toThrow(ConfigError)
  expect(() => providerCallbackBaseUrl(settings(host), [ACME])).toThrow(/MULTIHUB_PROVIDER_URL is missing/)
})
