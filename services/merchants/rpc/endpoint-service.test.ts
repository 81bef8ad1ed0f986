import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { Environment } from '#gen/multihub/common/v1/environment_pb.ts'
import { EndpointService } from '#gen/multihub/merchants/v1/endpoint_service_pb.ts'
import { RegistryService } from '#gen/multihub/merchants/v1/registry_service_pb.ts'
import { uuidv7 } from '#lib/base/ids.ts'
import { PAYMENT_EVENTS, SUPPORT_EVENTS } from '#lib/contract/events.ts'
import { PRINCIPAL_HEADER } from '#lib/rpc/principal.ts'
import { answerEveryName } from '../../../test/support/name-server.ts'
import { createFixture, type Fixture } from '../merchants.fixture.ts'

let fixture: Fixture
let merchantId: string

beforeAll(async () => {
  fixture = await createFixture()
  merchantId = await fixture.createMerchant(Environment.TEST, Environment.PRODUCTION)
})
afterAll(() => fixture.close())

const endpoints = () => fixture.client(EndpointService)
const valid = () => ({ merchantId, environment: Environment.TEST, url: 'http://127.0.0.1:8099/hook' })

/** The secret that the notifier would sign with, decrypted; `undefined` when there is none. */
async function secretOf(endpointId: string): Promise<string | undefined> {
  const request = { merchantId, environment: Environment.TEST }
  const response = await fixture.client(RegistryService, 'notifier').listMerchantEndpoints(request)
  const secret = response.endpoints.find(({ endpoint }) => endpoint?.endpointId === endpointId)?.secret
  return secret && fixture.keys.endpoint.unseal(secret.sealed, `endpoint:${endpointId}`).reveal()
}

describe('CreateEndpoint', () => {
  test('applies the defaults and returns the secret once', async () => {
    const { endpoint, secret } = await endpoints().createEndpoint(valid())
    expect(endpoint).toMatchObject({
      ...valid(),
      events: [...PAYMENT_EVENTS],
      timeoutSeconds: 30,
      maxRetries: 3,
      retryDelaySeconds: 1,
      enabled: true,
    })
    expect(secret).toMatch(/^[0-9a-f]{64}$/)
    expect(await secretOf(endpoint?.endpointId ?? '')).toBe(secret)
  })

  test('refuses a host that resolves to an address which is not public', async () => {
    const create = (url: string) => endpoints().createEndpoint({ ...valid(), url })
    {
      using _ = answerEveryName('10.0.0.1')
      await expect(create('https://inside.example.com/')).rejects.toMatchObject({ code: 9000 })
    }
    using _ = answerEveryName('93.184.215.14')
    expect((await create('https://outside.example.com/')).endpoint?.enabled).toBe(true)
  })

  test('stores every given field, and lists endpoints in the order of creation', async () => {
    const given = {
      ...valid(),
      url: 'https://example.com/hook',
      events: ['payment.completed', ...SUPPORT_EVENTS],
      timeoutSeconds: 60,
      maxRetries: 10,
      retryDelaySeconds: 3_600,
    }
    await endpoints().createEndpoint(given)
    await endpoints().createEndpoint({ ...given, timeoutSeconds: 5, maxRetries: 1 })
    const listed = await endpoints().listEndpoints({ merchantId })
    expect(listed.endpoints.slice(-2)).toMatchObject([given, { timeoutSeconds: 5, maxRetries: 1 }])
  })

  test.each([
    [{ merchantId: '' }, 1005, 'merchant_id'],
    [{ environment: Environment.UNSPECIFIED }, 1005, 'environment'],
    [{ url: '' }, 1005, 'url'],
    [{ url: 'http://10.0.0.1/' }, 9000, 'url'],
    [{ url: 'https://hook.localhost/' }, 9000, 'url'],
    [{ environment: Environment.PRODUCTION, url: 'http://example.com/' }, 9000, 'url'],
    [{ events: ['payment.created', 'payment.processing'] }, 9000, 'events.1'],
    [{ events: ['*'] }, 9000, 'events.0'],
    [{ timeoutSeconds: 4 }, 9000, 'timeout_seconds'],
    [{ timeoutSeconds: 61 }, 9000, 'timeout_seconds'],
    [{ maxRetries: -1 }, 9000, 'max_retries'],
    [{ maxRetries: 11 }, 9000, 'max_retries'],
    [{ retryDelaySeconds: 3_601 }, 9000, 'retry_delay_seconds'],
  ])('refuses %j with %i at %s', async (wrong, code, description) => {
    const call = endpoints().createEndpoint({ ...valid(), ...wrong })
    await expect(call).rejects.toMatchObject({ code, details: { description } })
  })
})

describe('UpdateEndpoint', () => {
  test('changes the given fields, can empty the list of events, and keeps the others', async () => {
    const { endpoint, secret } = await endpoints().createEndpoint(valid())
    const endpointId = endpoint?.endpointId ?? ''
    await endpoints().updateEndpoint({ endpointId, enabled: false, maxRetries: 1 })
    const updated = await endpoints().updateEndpoint({ endpointId, url: 'https://example.com/', events: {} })
    expect(updated.endpoint).toMatchObject({
      url: 'https://example.com/',
      events: [],
      enabled: false,
      maxRetries: 1,
      timeoutSeconds: 30,
    })
    expect(await secretOf(endpointId)).toBe(secret)
  })

  // N9
  test('refuses a host that resolves to an address which is not public', async () => {
    const { endpoint } = await endpoints().createEndpoint(valid())
    const update = (url: string) =>
      endpoints().updateEndpoint({ endpointId: endpoint?.endpointId ?? '', url })
    {
      using _ = answerEveryName('10.0.0.1')
      const refusal = { code: 9000, details: { description: 'url' } }
      await expect(update('https://inside.example.com/')).rejects.toMatchObject(refusal)
    }
    using _ = answerEveryName('93.184.215.14')
    expect((await update('https://outside.example.com/')).endpoint?.url).toBe('https://outside.example.com/')
  })

  test.each([
    [{ url: '' }, 1005, 'url'],
    [{ url: 'ftp://example.com/' }, 9000, 'url'],
    [{ events: { values: ['nothing'] } }, 9000, 'events.0'],
    [{ timeoutSeconds: 0 }, 9000, 'timeout_seconds'],
  ])('refuses %j with %i at %s', async (wrong, code, description) => {
    const { endpoint } = await endpoints().createEndpoint(valid())
    const call = endpoints().updateEndpoint({ endpointId: endpoint?.endpointId ?? '', ...wrong })
    await expect(call).rejects.toMatchObject({ code, details: { description } })
  })

  test.each([
    ['', 1005],
    ['0190a0b0-0000-7000-8000-000000000000', 1003],
    ['no id', 1003],
  ])('refuses the unknown id %j', async (endpointId, code) => {
    const refusal = { code, details: { description: 'endpoint_id' } }
    await expect(endpoints().updateEndpoint({ endpointId })).rejects.toMatchObject(refusal)
    await expect(endpoints().rotateEndpointSecret({ endpointId })).rejects.toMatchObject(refusal)
  })
})

describe('RotateEndpointSecret', () => {
  test('replaces the secret at once', async () => {
    const { endpoint } = await endpoints().createEndpoint(valid())
    const endpointId = endpoint?.endpointId ?? ''
    const { secret } = await endpoints().rotateEndpointSecret({ endpointId })
    expect(await secretOf(endpointId)).toBe(secret)
  })

  // O12
  test('a repetition under its operation_id rotates nothing', async () => {
    const { endpoint } = await endpoints().createEndpoint(valid())
    const endpointId = endpoint?.endpointId ?? ''
    const rotate = (operationId: string) => endpoints().rotateEndpointSecret({ endpointId, operationId })
    const [{ secret }, again] = await Promise.all([rotate('a'), rotate('a')])
    expect([again.secret, await secretOf(endpointId)]).toEqual([secret, secret])
    const { secret: newest } = await rotate('b')
    expect(await rotate('a')).toMatchObject({ secret: '' })
    expect(await secretOf(endpointId)).toBe(newest)
  })

  // O12: the operation_id of another person is in the audit.
  test('another principal does not get the secret under the operation_id', async () => {
    const by = (principal: string) => ({ headers: { [PRINCIPAL_HEADER]: principal } })
    const given = { ...valid(), operationId: uuidv7() }
    const { endpoint, secret: first } = await endpoints().createEndpoint(given, by('asha'))
    await expect(endpoints().createEndpoint(given, by('ravi'))).rejects.toMatchObject({ code: 1013 })
    expect((await endpoints().createEndpoint(given, by('asha'))).secret).toBe(first)
    const rotation = { endpointId: endpoint?.endpointId ?? '', operationId: 'a' }
    const { secret } = await endpoints().rotateEndpointSecret(rotation, by('asha'))
    await expect(endpoints().rotateEndpointSecret(rotation, by('ravi'))).rejects.toMatchObject({ code: 1013 })
    expect((await endpoints().rotateEndpointSecret(rotation, by('asha'))).secret).toBe(secret)
  })

  // N7
  test('creates the secret of an endpoint that was migrated without one', async () => {
    const { endpoint } = await endpoints().createEndpoint(valid())
    const created = await fixture.store.endpoints.find(endpoint?.endpointId ?? '')
    if (!created) throw new Error('the endpoint is not stored')
    const { sealed_secret: _, ...old } = created
    const endpoint_id = '0190a0b0-0000-7000-8000-00000000000a'
    await fixture.store.endpoints.insert({ ...old, endpoint_id })
    expect(await secretOf(endpoint_id)).toBeUndefined()
    const { secret } = await endpoints().rotateEndpointSecret({ endpointId: endpoint_id })
    expect(await secretOf(endpoint_id)).toBe(secret)
  })
})
