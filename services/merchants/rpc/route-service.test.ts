import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { Environment } from '#gen/multihub/common/v1/environment_pb.ts'
import { Direction, HIdFormat } from '#gen/multihub/merchants/v1/route_pb.ts'
import { RouteService } from '#gen/multihub/merchants/v1/route_service_pb.ts'
import { ROUTE_CURRENCIES } from '#lib/contract/money.ts'
import { PAYMENT_METHODS } from '#lib/contract/payment-methods.ts'
import { createFixture, type Fixture } from '../merchants.fixture.ts'

let fixture: Fixture
let merchantId: string

beforeAll(async () => {
  fixture = await createFixture()
  merchantId = await fixture.createMerchant(Environment.TEST, Environment.PRODUCTION)
})
afterAll(() => fixture.close())

const routes = () => fixture.client(RouteService)
const valid = () => ({
  merchantId,
  environment: Environment.TEST,
  direction: Direction.IN,
  method: 'upi',
  currency: 'INR',
  connector: 'sandbox',
  providerAccounts: ['main'],
})
const withdrawal = () => ({ ...valid(), direction: Direction.OUT, method: 'imps' })

describe('CreateRoute', () => {
  test('issues service ids from 30001 on and applies the defaults', async () => {
    const { route } = await routes().createRoute(valid())
    expect(route).toMatchObject({
      ...valid(),
      serviceId: '30001',
      hIdFormat: HIdFormat.UUID,
      expiresInSeconds: 1_800,
      payoutLimits: { minimum: 0n, maximum: 0n, daily: 0n, monthly: 0n, sinceSettlement: 0n },
      minimumAmount: 0n,
      enabled: true,
      purpose: '',
    })
  })

  test('stores every given field', async () => {
    const given = {
      ...withdrawal(),
      providerAccounts: ['first', 'second'],
      hIdFormat: HIdFormat.NUMERIC,
      expiresInSeconds: 5,
      payoutLimits: { minimum: 100n, maximum: 500n, daily: 1_000n, monthly: 9_000n, sinceSettlement: 3_000n },
      minimumAmount: 50n,
      purpose: 'failover',
    }
    const { route } = await routes().createRoute(given)
    expect(route).toMatchObject(given)
    expect((await routes().listRoutes({ merchantId })).routes.at(-1)).toMatchObject(given)
  })

  test('accepts the largest values', async () => {
    const given = {
      ...valid(),
      providerAccounts: [...'abcdefghij'],
      expiresInSeconds: 30 * 86_400,
      minimumAmount: 2n ** 53n - 1n,
      purpose: '\u{1f4b8}'.repeat(128),
    }
    expect((await routes().createRoute(given)).route).toMatchObject(given)
  })

  // P13
  test('accepts exactly the combinations of method, currency and direction that exist', async () => {
    // The last two are not methods; every object has a property `toString`.
    const methods = ['upi', 'imps', 'havale', 'papara', 'kredikarti', 'bank_transfer', 'card', 'toString']
    for (const [name, direction] of [['in', Direction.IN] as const, ['out', Direction.OUT] as const]) {
      const currencies_of: Readonly<Record<string, readonly string[]>> = PAYMENT_METHODS[name]
      for (const method of methods) {
        for (const currency of ROUTE_CURRENCIES) {
          const call = routes().createRoute({ ...valid(), direction, method, currency })
          const exists = Object.hasOwn(currencies_of, method) && currencies_of[method]?.includes(currency)
          if (exists) await expect(call).resolves.toMatchObject({ route: { method, currency } })
          else await expect(call).rejects.toMatchObject({ code: 9000 })
        }
      }
    }
  })

  test.each([
    [{ merchantId: '77' }, 1003, 'merchant_id'],
    [{ environment: Environment.UNSPECIFIED }, 1005, 'environment'],
    [{ direction: Direction.UNSPECIFIED }, 1005, 'direction'],
    [{ method: '' }, 1005, 'method'],
    [{ currency: '' }, 1005, 'currency'],
    [{ method: 'UPI' }, 9000, 'method'],
    [{ currency: 'TRY' }, 9000, 'currency'],
    [{ currency: 'inr' }, 9000, 'currency'],
    [{ connector: '' }, 1005, 'connector'],
    [{ connector: 'Sand box' }, 9000, 'connector'],
    [{ connector: 'acquirer' }, 9000, 'connector'],
    [{ environment: Environment.PRODUCTION, connector: 'sandbox' }, 9000, 'connector'],
    [{ providerAccounts: [] }, 1005, 'provider_accounts'],
    [{ providerAccounts: ['a', 'b', 'a'] }, 9000, 'provider_accounts.2'],
    [{ providerAccounts: ['a', ''] }, 9000, 'provider_accounts.1'],
    [{ providerAccounts: ['../a'] }, 9000, 'provider_accounts.0'],
    [{ providerAccounts: [...'abcdefghijk'] }, 9000, 'provider_accounts'],
    [{ hIdFormat: 9 as HIdFormat }, 9000, 'h_id_format'],
    [{ expiresInSeconds: -1 }, 9000, 'expires_in_seconds'],
    [{ expiresInSeconds: 2_592_001 }, 9000, 'expires_in_seconds'],
    [{ minimumAmount: -1n }, 9000, 'minimum_amount'],
    [{ minimumAmount: 2n ** 53n }, 9000, 'minimum_amount'],
    [{ payoutLimits: { daily: 1n } }, 9000, 'payout_limits.daily'],
    [{ purpose: 'x'.repeat(129) }, 9000, 'purpose'],
  ])('refuses %j with %i at %s', async (wrong, code, description) => {
    const call = routes().createRoute({ ...valid(), ...wrong })
    await expect(call).rejects.toMatchObject({ code, details: { description } })
  })

  test.each(['minimum', 'maximum', 'daily', 'monthly', 'sinceSettlement'])(
    'refuses a %s below 0',
    async (limit) => {
      const call = routes().createRoute({ ...withdrawal(), payoutLimits: { [limit]: -1n } })
      const description = `payout_limits.${limit === 'sinceSettlement' ? 'since_settlement' : limit}`
      await expect(call).rejects.toMatchObject({ code: 9000, details: { description } })
    },
  )

  // P14
  test('refuses a maximum below the minimum, except 0, which means no limit', async () => {
    const limits = (minimum: bigint, maximum: bigint) => ({
      ...withdrawal(),
      payoutLimits: { minimum, maximum },
    })
    await expect(routes().createRoute(limits(10n, 9n))).rejects.toMatchObject({
      code: 9000,
      details: { description: 'payout_limits.maximum' },
    })
    await expect(routes().createRoute(limits(10n, 0n))).resolves.toBeDefined()
  })
})

describe('UpdateRoute', () => {
  test('changes the given fields and keeps the others', async () => {
    const { route } = await routes().createRoute({
      ...withdrawal(),
      payoutLimits: { daily: 100n, monthly: 900n },
    })
    const serviceId = route?.serviceId ?? ''
    await routes().updateRoute({ serviceId, enabled: false, purpose: 'closed' })
    await routes().updateRoute({ serviceId, payoutLimits: { daily: 50n } })
    const updated = await routes().updateRoute({ serviceId, providerAccounts: ['b'], minimumAmount: 1n })
    expect(updated.route).toMatchObject({
      ...withdrawal(),
      serviceId,
      enabled: false,
      purpose: 'closed',
      payoutLimits: { daily: 50n, monthly: 0n },
      providerAccounts: ['b'],
      minimumAmount: 1n,
    })
  })

  test.each([
    [{ serviceId: '0' }, 1005, 'service_id'],
    [{ serviceId: '77' }, 1004, 'service_id'],
    [{ expiresInSeconds: 0 }, 9000, 'expires_in_seconds'],
    [{ payoutLimits: { monthly: 1n } }, 9000, 'payout_limits.monthly'],
    [{ minimumAmount: -5n }, 9000, 'minimum_amount'],
  ])('refuses %j with %i at %s', async (wrong, code, description) => {
    const { route } = await routes().createRoute(valid())
    const call = routes().updateRoute({ serviceId: route?.serviceId ?? '', ...wrong })
    await expect(call).rejects.toMatchObject({ code, details: { description } })
  })
})
