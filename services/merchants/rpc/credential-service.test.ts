import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals'
import { Environment } from '#gen/multihub/common/v1/environment_pb.ts'
import { ApiVersion, CredentialStatus } from '#gen/multihub/merchants/v1/credential_pb.ts'
import { CredentialService } from '#gen/multihub/merchants/v1/credential_service_pb.ts'
import { RegistryService } from '#gen/multihub/merchants/v1/registry_service_pb.ts'
import { Direction } from '#gen/multihub/merchants/v1/route_pb.ts'
import { RouteService } from '#gen/multihub/merchants/v1/route_service_pb.ts'
import { METHODS, RESEND_METHOD, SCOPES } from '#lib/contract/methods.ts'
import { PRINCIPAL_HEADER } from '#lib/rpc/principal.ts'
import { type InstalledClock, installManualClock } from '../../../test/support/manual-clock.ts'
import { createFixture, type Fixture } from '../merchants.fixture.ts'

let fixture: Fixture
let merchantId: string
let otherMerchantId: string
/** A test route and a production route of the merchant, and a route of another merchant. */
let routeIds: { test: string; production: string; other: string }

beforeAll(async () => {
  fixture = await createFixture()
  merchantId = await fixture.createMerchant(Environment.TEST, Environment.PRODUCTION)
  otherMerchantId = await fixture.createMerchant(Environment.TEST)
  const route = async (owner: string, environment: Environment): Promise<string> => {
    const connector = environment === Environment.TEST ? 'sandbox' : 'acquirer'
    const fixed = { direction: Direction.IN, method: 'upi', currency: 'INR', providerAccounts: ['main'] }
    const given = { merchantId: owner, environment, connector, ...fixed }
    return (await fixture.client(RouteService).createRoute(given)).route?.serviceId ?? ''
  }
  routeIds = {
    test: await route(merchantId, Environment.TEST),
    production: await route(merchantId, Environment.PRODUCTION),
    other: await route(otherMerchantId, Environment.TEST),
  }
})
afterAll(() => fixture.close())

/** IPv4 addresses mapped to IPv6, which the gateway treats as IPv4 (A7). */
const MAPPED = ['::ffff:1.2.3.4', '::FFFF:1.2.3.0/120', '::ffff:102:304']

const credentials = () => fixture.client(CredentialService)
const valid = () => ({ merchantId, apiVersion: ApiVersion.V1, environment: Environment.TEST })

/** The secrets that the gateway would accept, decrypted, the newest first. */
async function secretsOf(applicationId: string): Promise<string[]> {
  const { secrets } = await fixture.client(RegistryService, 'gateway').getCredential({ applicationId })
  return secrets.map(({ sealed }) =>
    fixture.keys.credential.unseal(sealed, `credential:${applicationId}`).reveal(),
  )
}

describe('CreateCredential', () => {
  // A10
  test('refuses support methods without a scope, with which none of them would work', async () => {
    const creation = credentials().createCredential({ ...valid(), supportResources: ['refund'] })
    await expect(creation).rejects.toMatchObject({ code: 1005, details: { description: 'scopes' } })
  })

  test('returns the secret once and stores it encrypted for this credential', async () => {
    const { credential, secret } = await credentials().createCredential(valid())
    const applicationId = credential?.applicationId ?? ''
    expect(applicationId).toBe('20001')
    expect(secret).toMatch(/^[0-9a-f]{64}$/)
    expect(await secretsOf(applicationId)).toEqual([secret])
    const stored = await fixture.store.credentials.find('20001')
    expect(
      JSON.stringify(stored, (_key, value) => (typeof value === 'bigint' ? `${value}` : value)),
    ).not.toContain(secret)
    expect(credential).toMatchObject({ status: CredentialStatus.ACTIVE, dailyLimit: 0n, scopes: [] })
  })

  test('stores every restriction without repeated entries', async () => {
    const given = {
      ...valid(),
      scopes: [...SCOPES, 'tickets.read'],
      serviceIds: [routeIds.test, routeIds.test],
      currencies: ['INR', 'TRY'],
      ipAllowlist: ['203.0.113.7', '198.51.100.0/24', '2001:db8::/32', '::1', '0.0.0.0/0', ...MAPPED],
      dailyLimit: 10_000n,
      rateLimits: { 'payment.in': 5, 'webhook.resend': 2 },
      disabledMethods: [...METHODS, RESEND_METHOD],
    }
    const { credential } = await credentials().createCredential(given)
    expect(credential).toMatchObject({ ...given, scopes: [...SCOPES], serviceIds: [routeIds.test] })
    const list = await credentials().listCredentials({ merchantId })
    expect(list.credentials.at(-1)).toMatchObject({ ...credential })
  })

  test('accepts the largest limits and the longest lists', async () => {
    const given = {
      ...valid(),
      ipAllowlist: Array.from({ length: 256 }, (_, number) => `203.0.113.${number}`),
      dailyLimit: 2n ** 53n - 1n,
      rateLimits: { 'payment.in': 1_000_000 },
    }
    const { credential } = await credentials().createCredential({
      ...given,
      serviceIds: Array.from({ length: 500 }, () => routeIds.test),
    })
    expect(credential).toMatchObject({ ...given, serviceIds: [routeIds.test] })
  })

  test.each([
    [{ merchantId: '' }, 1005, 'merchant_id'],
    [{ merchantId: '77' }, 1003, 'merchant_id'],
    [{ apiVersion: ApiVersion.UNSPECIFIED }, 1005, 'api_version'],
    [{ apiVersion: 9 as ApiVersion }, 9000, 'api_version'],
    [{ environment: Environment.UNSPECIFIED }, 1005, 'environment'],
    [{ scopes: ['tickets.read', 'tickets.*'] }, 9000, 'scopes.1'],
    [{ scopes: ['Tickets.Read'] }, 9000, 'scopes.0'],
    [{ serviceIds: ['7'] }, 1004, 'service_ids.0'],
    [{ serviceIds: Array.from({ length: 501 }, () => '7') }, 9000, 'service_ids'],
    [{ currencies: ['INR', 'USD'] }, 9000, 'currencies.1'],
    [{ currencies: ['inr'] }, 9000, 'currencies.0'],
    [{ dailyLimit: -1n }, 9000, 'daily_limit'],
    [{ dailyLimit: 2n ** 53n }, 9000, 'daily_limit'],
    [{ rateLimits: { 'payment.in': 0 } }, 9000, 'rate_limits.payment.in'],
    [{ rateLimits: { 'payment.in': 1_000_001 } }, 9000, 'rate_limits.payment.in'],
    [{ rateLimits: { 'payment.off': 5 } }, 9000, 'rate_limits.payment.off'],
    [{ rateLimits: JSON.parse('{"__proto__": 5}') }, 9000, 'rate_limits.__proto__'],
    [{ disabledMethods: ['payment'] }, 9000, 'disabled_methods.0'],
    [{ ipAllowlist: Array.from({ length: 257 }, () => '1.1.1.1') }, 9000, 'ip_allowlist'],
  ])('refuses %j with %i at %s', async (wrong, code, description) => {
    const call = credentials().createCredential({ ...valid(), ...wrong })
    await expect(call).rejects.toMatchObject({ code, details: { description } })
  })

  test.each([
    ...[
      '',
      'example.com',
      '1.2.3',
      '1.2.3.4.5',
      '256.1.1.1',
      '01.2.3.4',
      '1.2.3.4/33',
      '1.2.3.4/-1',
      '1.2.3.4/',
    ],
    ...['1.2.3.4/8/8', '1.2.3.4/08', '1.2.3.4/8 ', '::1/129', '::ffff:1.2.3.0/95', 'fe80::1%eth0'],
    ...['1.2.3.4-1.2.3.9', '*', '0x7f.0.0.1', '[::1]', '/8'],
  ])('refuses %j in the allowlist', async (range) => {
    const call = credentials().createCredential({ ...valid(), ipAllowlist: ['1.1.1.1', range] })
    await expect(call).rejects.toMatchObject({ code: 9000, details: { description: 'ip_allowlist.1' } })
  })

  test('refuses an environment that the merchant does not have, and routes of other merchants and environments', async () => {
    const production = { ...valid(), merchantId: otherMerchantId, environment: Environment.PRODUCTION }
    await expect(credentials().createCredential(production)).rejects.toMatchObject({
      code: 9000,
      details: { description: 'environment', reason: "one of the merchant's: test" },
    })
    const other_merchant = credentials().createCredential({ ...valid(), serviceIds: [routeIds.other] })
    await expect(other_merchant).rejects.toMatchObject({
      code: 1004,
      details: { description: 'service_ids.0' },
    })
    const other_environment = credentials().createCredential({
      ...valid(),
      serviceIds: [routeIds.production],
    })
    await expect(other_environment).rejects.toMatchObject({
      code: 9000,
      details: { description: 'service_ids.0' },
    })
  })
})

describe('UpdateCredential', () => {
  test('changes the given fields, empties lists that are given empty, and keeps the others', async () => {
    const created = await credentials().createCredential({
      ...valid(),
      scopes: ['tickets.read'],
      currencies: ['INR'],
      dailyLimit: 5n,
      rateLimits: { 'payment.in': 5 },
    })
    const applicationId = created.credential?.applicationId ?? ''
    await credentials().updateCredential({ applicationId, status: CredentialStatus.BLOCKED })
    await credentials().updateCredential({ applicationId, currencies: { values: [] }, dailyLimit: 0n })
    const updated = await credentials().updateCredential({
      applicationId,
      rateLimits: {},
      serviceIds: { values: [routeIds.test] },
    })
    expect(updated.credential).toMatchObject({
      status: CredentialStatus.BLOCKED,
      scopes: ['tickets.read'],
      currencies: [],
      dailyLimit: 0n,
      rateLimits: {},
      serviceIds: [routeIds.test],
    })
    expect(await secretsOf(applicationId)).toEqual([created.secret])
  })

  test.each([
    [{ applicationId: '0' }, 1005, 'application_id'],
    [{ applicationId: '77' }, 3003, 'application_id'],
    [{ status: 9 as CredentialStatus }, 9000, 'status'],
    [{ scopes: { values: ['x'] } }, 9000, 'scopes.0'],
    [{ serviceIds: { values: ['abc'] } }, 1004, 'service_ids.0'],
  ])('refuses %j with %i at %s', async (wrong, code, description) => {
    const { credential } = await credentials().createCredential(valid())
    const call = credentials().updateCredential({ applicationId: credential?.applicationId ?? '', ...wrong })
    await expect(call).rejects.toMatchObject({ code, details: { description } })
  })
})

describe('RotateSecret', () => {
  let clock: InstalledClock
  let applicationId: string
  let first: string
  beforeEach(async () => {
    clock = installManualClock()
    const { credential, secret } = await credentials().createCredential(valid())
    applicationId = credential?.applicationId ?? ''
    first = secret
  })
  afterEach(() => clock[Symbol.dispose]())

  const rotate = (overlapSeconds: number) => credentials().rotateSecret({ applicationId, overlapSeconds })

  // A6
  test('keeps every older secret valid until its stated time, whatever rotations follow', async () => {
    const { secret: second, oldSecretExpireTime } = await rotate(60)
    expect(Number(oldSecretExpireTime?.seconds) * 1_000).toBe(clock.now_ms() + 60_000)
    expect(await secretsOf(applicationId)).toEqual([second, first])
    await clock.advance(20_000)
    const { secret: third } = await rotate(10)
    expect(await secretsOf(applicationId)).toEqual([third, second, first])
    await clock.advance(9_999)
    expect(await secretsOf(applicationId)).toEqual([third, second, first])
    await clock.advance(1)
    expect(await secretsOf(applicationId)).toEqual([third, first])
    await clock.advance(29_999)
    expect(await secretsOf(applicationId)).toEqual([third, first])
    await clock.advance(1)
    expect(await secretsOf(applicationId)).toEqual([third])
  })

  test('accepts an overlap of 30 days', async () => {
    const { oldSecretExpireTime } = await rotate(30 * 86_400)
    expect(Number(oldSecretExpireTime?.seconds) * 1_000).toBe(clock.now_ms() + 30 * 86_400_000)
  })

  test('an overlap of 0 ends all older secrets', async () => {
    await rotate(60)
    await rotate(60)
    const { secret } = await rotate(0)
    expect(await secretsOf(applicationId)).toEqual([secret])
  })

  test('concurrent rotations all keep their secrets valid for the overlap', async () => {
    const rotations = await Promise.all([rotate(600), rotate(600), rotate(600)])
    await clock.advance(599_999)
    const issued = [first, ...rotations.map(({ secret }) => secret)]
    expect((await secretsOf(applicationId)).sort()).toEqual(issued.sort())
  })

  test('keeps at most ten older secrets and deletes expired ones', async () => {
    for (let rotations = 1; rotations <= 10; rotations += 1) await rotate(60 * rotations)
    const before = await secretsOf(applicationId)
    expect(before).toHaveLength(11)
    await expect(rotate(1)).rejects.toMatchObject({
      code: 9000,
      details: { description: 'overlap_seconds', reason: expect.stringContaining('10 older secrets') },
    })
    expect(await secretsOf(applicationId)).toEqual(before)
    await clock.advance(60_000)
    const { secret: next } = await rotate(600)
    expect(await secretsOf(applicationId)).toEqual([next, ...before.slice(0, -1)])
    expect((await fixture.store.credentials.find(applicationId))?.secrets).toHaveLength(11)
    const { secret: last } = await rotate(0)
    expect(await secretsOf(applicationId)).toEqual([last])
  })

  // O12
  test('a repetition under its operation_id rotates nothing, and has the secret for 10 minutes', async () => {
    const again = (operationId: string, overlapSeconds = 900) =>
      credentials().rotateSecret({ applicationId, overlapSeconds, operationId })
    const answers = await Promise.all([again('a'), again('a'), again('a')])
    const [rotated] = answers
    expect(answers).toEqual([rotated, rotated, rotated])
    expect(await secretsOf(applicationId)).toEqual([rotated?.secret, first])
    await expect(again('a', 60)).rejects.toMatchObject({ code: 1013 })
    await clock.advance(10 * 60_000 - 1)
    expect(await again('a')).toEqual(rotated)
    await clock.advance(1)
    expect(await again('a')).toEqual({ ...rotated, secret: '' })
    expect(await secretsOf(applicationId)).toEqual([rotated?.secret, first])
  })

  // O12: the operation_id of another person is in the audit.
  test('another principal does not get the secret under the operation_id', async () => {
    const by = (principal: string) => ({ headers: { [PRINCIPAL_HEADER]: principal } })
    const given = { ...valid(), operationId: 'of asha' }
    const created = await credentials().createCredential(given, by('asha'))
    await expect(credentials().createCredential(given, by('ravi'))).rejects.toMatchObject({ code: 1013 })
    expect((await credentials().createCredential(given, by('asha'))).secret).toBe(created.secret)
    const rotation = { applicationId, operationId: 'a' }
    const { secret } = await credentials().rotateSecret(rotation, by('asha'))
    await expect(credentials().rotateSecret(rotation, by('ravi'))).rejects.toMatchObject({ code: 1013 })
    expect((await credentials().rotateSecret(rotation, by('asha'))).secret).toBe(secret)
  })

  // O12
  test('a repetition after another rotation rotates nothing, and shows no secret', async () => {
    const again = (operationId: string) => credentials().rotateSecret({ applicationId, operationId })
    const one = await again('a')
    const { secret } = await rotate(60)
    expect(await again('a')).toEqual({ ...one, secret: '' })
    for (let count = 0; count < 13; count += 1) await rotate(0)
    const { secret: newest } = await again('b')
    expect(await again('a')).toMatchObject({ secret: '' })
    expect(await secretsOf(applicationId)).toEqual([newest])
    expect(newest).not.toBe(secret)
  })

  test.each([
    [{ applicationId: '77' }, 3003, 'application_id'],
    [{ operationId: 'x'.repeat(129) }, 9000, 'operation_id'],
    [{ overlapSeconds: -1 }, 9000, 'overlap_seconds'],
    [{ overlapSeconds: 30 * 86_400 + 1 }, 9000, 'overlap_seconds'],
  ])('refuses %j with %i at %s', async (wrong, code, description) => {
    const call = credentials().rotateSecret({ applicationId, ...wrong })
    await expect(call).rejects.toMatchObject({ code, details: { description } })
  })
})
