import { expect, test } from '@jest/globals'
import { Environment } from '#gen/multihub/common/v1/environment_pb.ts'
import { MerchantService } from '#gen/multihub/merchants/v1/merchant_service_pb.ts'
import { Direction } from '#gen/multihub/merchants/v1/route_pb.ts'
import { RouteService } from '#gen/multihub/merchants/v1/route_service_pb.ts'
import { PaymentService } from '#gen/multihub/payments/v1/payment_service_pb.ts'
import { AccountState } from '#gen/multihub/payments/v1/provider_account_pb.ts'
import { ProviderAccountService } from '#gen/multihub/payments/v1/provider_account_service_pb.ts'
import { eventually } from '../../test/support/eventually.ts'
import { propertyRuns } from '../../test/support/property-runs.ts'
import { type PaymentsSystem, startPayments } from './payments-system.fixture.ts'

const MERCHANTS = propertyRuns(1_000)
/** How many calls of a kind run at once where none hangs. */
const AT_ONCE = 50

interface Shop {
  readonly merchantId: string
  readonly serviceId: string
}

/** A merchant with a route for deposits to two accounts, of which the first is to hang. */
async function openShop({ roles }: PaymentsSystem, name: string): Promise<Shop> {
  const { merchant } = await roles.client(MerchantService, 'backoffice').createMerchant({
    name,
    timezone: 'Asia/Kolkata',
    environments: [Environment.TEST],
  })
  const merchantId = merchant?.merchantId ?? ''
  const { route } = await roles.client(RouteService, 'backoffice').createRoute({
    merchantId,
    environment: Environment.TEST,
    direction: Direction.IN,
    method: 'upi',
    currency: 'INR',
    connector: 'sandbox',
    providerAccounts: ['acme', 'sandbox'],
  })
  return { merchantId, serviceId: route?.serviceId ?? '' }
}

async function pay({ roles }: PaymentsSystem, { merchantId, serviceId }: Shop, cId: string): Promise<string> {
  const request = {
    merchantId,
    environment: Environment.TEST,
    serviceId,
    direction: Direction.IN,
    cId,
    amount: { minor: 1_000_000n, currency: 'INR' },
    details: { payer: { email: 'asha@example.com' } },
  }
  const { payment } = await roles
    .client(PaymentService, 'gateway')
    .createPayment(request, { timeoutMs: 120_000 })
  return payment?.paymentId ?? ''
}

/** Runs a call for each item, some at once, and returns the results in their order. */
async function forEach<Item, Result>(
  items: readonly Item[],
  call: (item: Item, at: number) => Promise<Result>,
): Promise<Result[]> {
  const results: Result[] = []
  for (let at = 0; at < items.length; at += AT_ONCE)
    results.push(
      ...(await Promise.all(items.slice(at, at + AT_ONCE).map((item, index) => call(item, at + index)))),
    )
  return results
}

// P20
test(`${MERCHANTS} merchants go on at the next account when one that hangs is switched off`, async () => {
  await using system = await startPayments({ variables: { MULTIHUB_CREATE_TIMEOUT: '60s' } })
  const { roles, provider } = system
  const shops = await forEach(Array.from({ length: MERCHANTS }), (_, at) => openShop(system, `shop ${at}`))
  const accountsOf = async (paymentId: string): Promise<readonly string[]> => {
    const { attempts } = await roles.client(PaymentService, 'backoffice').getPayment({ paymentId })
    return attempts.map(({ accountId }) => accountId)
  }
  const hanging = shops.map((shop) => pay(system, shop, 'before'))
  await eventually(
    async () => provider.orders(),
    (count = 0) => count === MERCHANTS,
  )
  const operator = roles.client(ProviderAccountService, 'backoffice')
  await operator.setAccountState({ accountId: 'acme', state: AccountState.DISABLED, reason: 'it hangs' })
  const others = await forEach(shops, (shop) => pay(system, shop, 'after'))
  expect(provider.orders()).toBe(MERCHANTS)
  expect(new Set((await forEach(others, accountsOf)).map(String))).toEqual(new Set(['sandbox']))
  // What had been sent is at the account that hangs, and nowhere else.
  provider.answer('success')
  const sent = await Promise.all(hanging)
  expect(new Set((await forEach(sent, accountsOf)).map(String))).toEqual(new Set(['acme']))
})
