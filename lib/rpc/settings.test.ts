import { describe, expect, test } from '@jest/globals'
import { ConfigError, readConfig } from '#lib/base/config/config.ts'
import { addressesOf, RPC_SETTINGS, type RpcConfig } from './settings.ts'

const A = 'a'.repeat(64)
const B = 'b'.repeat(64)

const read = (environment: Readonly<Record<string, string>>): RpcConfig =>
  readConfig(RPC_SETTINGS, environment)

describe('the RPC settings', () => {
  test('listen on the loopback address and permit no caller by default', () => {
    expect(read({})).toMatchObject({
      host: '127.0.0.1',
      grpc_port: 9090,
      connect_port: 9091,
      callers: [],
      certificates: [],
    })
  })

  test('accept two tokens for one caller', () => {
    const { callers } = read({ MULTIHUB_RPC_CALLERS: ` gateway:${A}, gateway:${B},backoffice:${A}` })
    expect(callers).toEqual([
      { name: 'gateway', sha256: A },
      { name: 'gateway', sha256: B },
      { name: 'backoffice', sha256: A },
    ])
  })

  test('accept certificates by DNS name, URI or common name', () => {
    const { certificates } = read({
      MULTIHUB_RPC_CERTIFICATES: 'payments:payments.shop.svc,gateway:spiffe://shop/gateway',
    })
    expect(certificates).toEqual([
      { name: 'payments', identity: 'payments.shop.svc' },
      { name: 'gateway', identity: 'spiffe://shop/gateway' },
    ])
  })

  test.each([
    `nobody:${A}`,
    `gateway:${A.toUpperCase()}`,
    `gateway:${A}0`,
    'gateway=token',
    `gateway:${A},`,
    ':',
  ])('refuse the callers %p', (text) => {
    expect(() => read({ MULTIHUB_RPC_CALLERS: text })).toThrow(ConfigError)
  })

  test.each([`nobody:${A}`, 'gateway=0123456789abcdef'])('never print the callers, such as %p', (text) => {
    let message = ''
    try {
      read({ MULTIHUB_RPC_CALLERS: text })
    } catch (error) {
      message = String(error)
    }
    expect(message).toContain('MULTIHUB_RPC_CALLERS')
    expect(message).not.toContain(text.slice(-16))
  })

  test('accept the addresses of roles', () => {
    const addresses = addressesOf(
      read({ MULTIHUB_MERCHANTS_ADDRESS: 'merchants:9090', MULTIHUB_PAYMENTS_ADDRESS: '[::1]:9090' }),
    )
    expect([...addresses]).toEqual([
      ['merchants', 'merchants:9090'],
      ['payments', '[::1]:9090'],
    ])
  })

  test.each(['merchants', 'http://merchants:9090', 'merchants:port', '::1:9090', 'a b:1', 'dns:///a:1'])(
    'refuse the address %p',
    (text) => {
      expect(() => read({ MULTIHUB_MERCHANTS_ADDRESS: text })).toThrow(
        /MULTIHUB_MERCHANTS_ADDRESS must be an address/,
      )
    },
  )
})
