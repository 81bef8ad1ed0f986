import { createServer } from 'node:http'
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { Secret } from '#lib/base/crypto/secret.ts'
import { allowAnyAddress } from '#lib/http/address-policy.ts'
import { createHttpClient, type HttpClient } from '#lib/http/client.ts'
import { type Listening, listen } from '#lib/http/network.ts'
import { type ConnectorUnderTest, connectorSuite } from '../../../../test/suites/connector.suite.ts'
import { HANG_LIMIT_MS } from '../../../../test/support/hang-limit.ts'
import { isCredential } from '../account-schema.ts'
import { connectAccount } from '../connect-account.ts'
import type { Connector, ProviderOrder } from '../connector.ts'
import { provenBy } from '../create-result.fixture.ts'
import { newAccount } from '../provider-account.ts'
import { formConnector } from './form-connector.ts'
import { type FormProvider, startFormProvider } from './form-provider.fixture.ts'

function connect(
  provider: Pick<FormProvider, 'url' | 'token' | 'merchant_code'>,
  http: HttpClient,
): Connector {
  const account = newAccount('test', {
    account_id: 'acme',
    connector: 'form',
    base_url: provider.url,
    credentials: { token: new Secret(provider.token) },
    settings: { merchant_code: provider.merchant_code },
  })
  return connectAccount(account, http).connector
}

connectorSuite('form', formConnector.capabilities, async (): Promise<ConnectorUnderTest> => {
  const provider = await startFormProvider()
  const http = createHttpClient({ allow: allowAnyAddress })
  const connectTo = (base_url: string) => connect({ ...provider, url: base_url }, http)
  return {
    connector: connectTo(provider.url),
    connectTo,
    async stop() {
      await http.close()
      await provider.stop()
    },
  }
})

describe('the protocol', () => {
  const http = createHttpClient({ allow: allowAnyAddress })
  const requests: { readonly target: string; readonly form: Record<string, string> }[] = []
  let response: object
  let http_status = 200
  let server: Listening
  let connector: Connector

  beforeAll(async () => {
    const provider = createServer(async (request, answer) => {
      const chunks: Buffer[] = []
      for await (const chunk of request) chunks.push(chunk)
      const form = Object.fromEntries(new URLSearchParams(Buffer.concat(chunks).toString()))
      requests.push({ target: `${request.method} ${request.url}`, form })
      answer.writeHead(http_status).end(JSON.stringify(response))
    })
    server = await listen(provider, { host: '127.0.0.1', port: 0, variable: 'none' })
    const url = `http://${server.host_and_port}`
    connector = connect({ url, token: 't'.repeat(16), merchant_code: 'SHOP-1' }, http)
  })
  afterAll(async () => {
    await http.close()
    await server.close(0)
  })

  const transfer = {
    id: 't-1',
    reference: 'k1',
    type: 'payout',
    state: 'SETTLED',
    amount: '1.00',
    currency: 'INR',
    settled_at: '2025-11-22T07:00:00Z',
  }
  const lookUp = (...keys: readonly string[]) =>
    Promise.all(
      keys.map((idempotency_key) => connector.lookUp({ kind: 'withdrawal', idempotency_key }, HANG_LIMIT_MS)),
    )
  const order: ProviderOrder = {
    kind: 'withdrawal',
    idempotency_key: 'p:1',
    amount: { minor: 123_450n, currency: 'INR' },
    method: 'imps',
    callback_url: 'http://127.0.0.1:9/',
    beneficiary: { account_id: '12345', ifsc: 'SBIN0000001', first_name: 'A & B=', last_name: 'Öz' },
  }
  const success = expect.objectContaining({ kind: 'success', amount: { minor: 100n, currency: 'INR' } })
  const unknown = expect.objectContaining({ kind: 'unknown', is_provider_failure: true })

  test('sends a payout as a form with a decimal amount', async () => {
    response = { transfer: { ...transfer, reference: 'p:1', amount: '1234.50' } }
    expect(await connector.create(order, HANG_LIMIT_MS)).toMatchObject({ kind: 'success' })
    expect(requests.at(-1)).toEqual({
      target: 'POST /v1/payouts',
      form: {
        merchant_code: 'SHOP-1',
        reference: 'p:1',
        amount: '1234.50',
        currency: 'INR',
        channel: 'IMPS',
        account: '12345',
        bank: 'SBIN0000001',
        name: 'A & B= Öz',
      },
    })
    const of_unknown_method = { ...order, method: 'toString' }
    const created = await connector.create(of_unknown_method, HANG_LIMIT_MS)
    expect(created).toEqual({ kind: 'not_sent', reason: 'the protocol cannot express the order' })
  })

  // P4
  test.each([400, 500])('a report under HTTP %d proves nothing, and a refusal counts', async (status) => {
    http_status = status
    try {
      response = { transfer: { ...transfer, reference: order.idempotency_key } }
      expect(await connector.create(order, HANG_LIMIT_MS)).toEqual(unknown)
      response = { transfers: [transfer] }
      expect(await lookUp('k1')).toEqual([unknown])
      response = { error: 'ACCOUNT_INVALID' }
      expect(await provenBy(connector.create(order, HANG_LIMIT_MS))).toEqual({ kind: 'declined', code: 8600 })
    } finally {
      http_status = 200
    }
  })

  // P4
  test('a fault, a conflict or a limit refuses nothing: only a reason of the protocol counts under its status', async () => {
    response = { error: 'INTERNAL_ERROR' }
    try {
      for (const status of [402, 405, 408, 409, 423, 425, 429, 451, 500, 502, 503, 504]) {
        http_status = status
        expect(await connector.create(order, HANG_LIMIT_MS)).toEqual(unknown)
      }
      for (const status of [200, 400, 401, 403, 404, 422]) {
        http_status = status
        expect(await provenBy(connector.create(order, HANG_LIMIT_MS))).toEqual({
          kind: 'declined',
          code: 7001,
        })
      }
    } finally {
      http_status = 200
    }
  })

  // P4
  test.each<[string, object]>([
    ['about another transfer', { transfer: { ...transfer, reference: 'p:2' } }],
    ['about a transfer of another type', { transfer: { ...transfer, reference: 'p:1', type: 'collection' } }],
    ['with more than a refusal', { error: 'ACCOUNT_INVALID', path: '/v1/payouts' }],
  ])('a response to a create %s proves nothing', async (_what, body) => {
    response = body
    expect(await connector.create(order, HANG_LIMIT_MS)).toEqual(unknown)
  })

  test('asks for up to 50 transfers with one request', async () => {
    response = { transfers: [transfer] }
    const before = requests.length
    const keys = Array.from({ length: 51 }, (_, number) => `k${number}`)
    const results = await lookUp(...keys)
    expect(requests).toHaveLength(before + 2)
    expect(results.filter(({ kind }) => kind === 'not_found')).toHaveLength(50)
    expect(results[1]).toEqual(success)
  })

  test('reads the instructions of 50 deposits from one response', async () => {
    const links = Array.from({ length: 4 }, (_, app) => `upi://pay?app=${app}&pa=${'x'.repeat(400)}`)
    const pay_by = { deep_links: links, qr_payload: links[0] }
    const keys = Array.from({ length: 50 }, (_, number) => `k${number}`)
    response = {
      transfers: keys.map((reference) => ({ ...transfer, reference, state: 'PROCESSING', pay_by })),
    }
    const results = await lookUp(...keys)
    expect(results.map(({ kind }) => kind)).toEqual(keys.map(() => 'pending'))
  })

  test('cannot tell which of several transfers with one reference is its own', async () => {
    response = { transfers: [transfer, { ...transfer, id: 't-2', state: 'FAILED' }] }
    expect(await lookUp('k1', 'k2')).toEqual([unknown, { kind: 'not_found' }])
  })

  test.each([
    ['no time of its success', { settled_at: undefined }],
    ['an impossible time of its success', { settled_at: '0000-01-01T00:00:00Z' }],
    ['a time of its success far in the future', { settled_at: '9999-01-01T00:00:00Z' }],
    ['an amount with too many decimal places', { amount: '1.001' }],
    ['an amount that is a number', { amount: 1 }],
    ['an amount of zero', { amount: '0.00' }],
    ['an unknown type', { type: 'toString' }],
    ['no reference', { reference: undefined }],
    ['an unreadable amount of its failure', { state: 'FAILED', amount: '1,00' }],
  ])('a transfer with %s can be any of those that were asked for', async (_what, changes) => {
    response = {
      transfers: [
        { ...transfer, ...changes },
        { ...transfer, reference: 'k2' },
      ],
    }
    expect(await lookUp('k1', 'k2')).toEqual([unknown, success])
  })

  test('a token that no header can carry is not accepted in the accounts file', () => {
    const { token } = formConnector.credentials
    expect(isCredential('t'.repeat(16), token)).toBe(true)
    for (const text of ['t'.repeat(15), `${'t'.repeat(16)}\r\nx: y`, `${'t'.repeat(16)}\u20ac`])
      expect([text, isCredential(text, token)]).toEqual([text, false])
  })
})
