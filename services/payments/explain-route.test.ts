import { afterAll, beforeAll, expect, test } from '@jest/globals'
import fc from 'fast-check'
import { Direction } from '#gen/multihub/merchants/v1/route_pb.ts'
import { RouteService } from '#gen/multihub/merchants/v1/route_service_pb.ts'
import { type ExplainRouteResponse, PaymentService } from '#gen/multihub/payments/v1/payment_service_pb.ts'
import { CircuitState } from '#gen/multihub/payments/v1/provider_account_pb.ts'
import { PublicError } from '#lib/contract/errors/public-error.ts'
import type { CallerName } from '#lib/rpc/service.ts'
import { type PaymentOptions, type PaymentsSystem, startPayments } from './payments-system.fixture.ts'

let system: PaymentsSystem
beforeAll(async () => {
  system = await startPayments()
  // No payment ends by itself, so that nothing changes between an explanation and the payment.
  system.provider.answer('pending')
})
afterAll(async () => {
  await system[Symbol.asyncDispose]()
})

function explain(serviceId: string, amount: bigint, merchantId = system.merchant_id) {
  return system.roles.client(PaymentService, 'backoffice').explainRoute({ merchantId, serviceId, amount })
}

const codesOf = ({ refusals }: ExplainRouteResponse): number[] => refusals.map(({ code }) => code)

async function setAvailable(amount: bigint): Promise<void> {
  const { available } = await system.balance()
  if (available !== amount) await system.fund(amount - available)
}

const withdrawalRoute = (route: PaymentOptions['route'], accounts = ['acme']): Promise<string> =>
  system.withdrawalRoute({ accounts, ...(route && { route }) })

/** The code with which a payment on this route is refused; `undefined` when it is accepted. */
async function refusalOf(direction: Direction, serviceId: string, amount: bigint): Promise<unknown> {
  const create = direction === Direction.OUT ? system.withdraw : system.deposit
  try {
    await create(amount, { request: { serviceId } })
    return undefined
  } catch (error) {
    return error instanceof PublicError ? error.code : error
  }
}

const limit = fc.oneof(
  { weight: 3, arbitrary: fc.constant(0n) },
  { weight: 2, arbitrary: fc.bigInt(20n, 160n) },
)
const routes = fc.record({
  direction: fc.oneof(
    { weight: 5, arbitrary: fc.constant(Direction.OUT) },
    { weight: 1, arbitrary: fc.constant(Direction.IN) },
  ),
  minimum_amount: fc.bigInt(0n, 10n),
  limits: fc.record({ maximum: limit, daily: limit, monthly: limit, sinceSettlement: limit }),
  accounts: fc.constantFrom(['acme'], ['acme'], ['acme'], ['acme', 'rival'], ['acme', 'nobody']),
  enabled: fc.oneof(
    { weight: 8, arbitrary: fc.constant(true) },
    { weight: 1, arbitrary: fc.constant(false) },
  ),
})
const steps = fc.array(
  fc.record({
    available: fc.oneof(fc.constant(undefined), fc.bigInt(-20n, 400n)),
    amount: fc.oneof(
      { weight: 6, arbitrary: fc.bigInt(1n, 120n) },
      { weight: 1, arbitrary: fc.constantFrom(-1n, 0n, 2n ** 53n - 1n, 2n ** 53n, 2n ** 62n) },
    ),
  }),
  { minLength: 3, maxLength: 8 },
)

// E9, P14
test('the explanation names the code that the payment then gets', async () => {
  const seen = new Set<unknown>()
  const property = fc.asyncProperty(routes, steps, async (shape, payments) => {
    const { direction, minimum_amount: minimumAmount, limits, accounts, enabled } = shape
    const is_withdrawal = direction === Direction.OUT
    const serviceId = await system.withdrawalRoute({
      accounts,
      route: {
        minimumAmount,
        ...(is_withdrawal ? { payoutLimits: limits } : { direction, method: 'upi' }),
      },
    })
    if (!enabled) await system.roles.client(RouteService, 'backoffice').updateRoute({ serviceId, enabled })
    for (const { available, amount } of payments) {
      if (available !== undefined) await setAvailable(available)
      const before = await system.balance()
      const explanation = await explain(serviceId, amount)
      expect(await system.balance()).toEqual(before)
      const code = await refusalOf(direction, serviceId, amount)
      const { funds: later } = await explain(serviceId, amount)
      // At midnight the sums of the day begin again.
      if (later?.totals?.count?.day !== explanation.funds?.totals?.count?.day) continue
      expect(codesOf(explanation)[0]).toBe(code)
      expect(explanation.accepted).toBe(code === undefined)
      seen.add(code)
    }
  })
  await fc.assert(property, { numRuns: 30, seed: 42 })
  // The seed is fixed, so each kind of outcome is among those that were compared.
  expect([...seen].toSorted()).toEqual([1002, 6001, 6004, 6005, 6006, 6035, undefined])
})

test('names all rules that refuse, in their order, and shows what they were judged by', async () => {
  await setAvailable(100n)
  const payoutLimits = { minimum: 5n, maximum: 90n, daily: 80n, monthly: 85n, sinceSettlement: 88n }
  const serviceId = await withdrawalRoute({ payoutLimits, minimumAmount: 3n }, ['nobody', 'acme'])
  await system.roles.client(RouteService, 'backoffice').updateRoute({ serviceId, enabled: false })
  const explanation = await explain(serviceId, 101n)
  expect(explanation).toMatchObject({
    accepted: false,
    refusals: [
      { code: 1002, message: 'Method does not exist or is not available' },
      { code: 6004, message: 'Insufficient funds' },
      { code: 6006, message: 'Daily limit exceeded' },
      { code: 6005, message: 'Monthly limit exceeded' },
      { code: 6035, message: 'Payout limits exceeded' },
    ],
    route: {
      direction: Direction.OUT,
      method: 'imps',
      currency: 'INR',
      connector: 'sandbox',
      enabled: false,
      minimumAmount: 5n,
      accounts: [
        { accountId: 'nobody', configured: false },
        { accountId: 'acme', configured: true, account: { circuitState: CircuitState.CLOSED } },
      ],
    },
    funds: {
      available: 100n,
      limits: { serviceId, timezone: 'Asia/Kolkata', daily: 80n, monthly: 85n, sinceSettlement: 88n },
      totals: { dayTotal: 0n, monthTotal: 0n, periodTotal: 0n },
    },
  })
  expect(explanation.route?.accounts[0]?.account).toBeUndefined()
  expect(codesOf(await explain(serviceId, 4n))).toEqual([1002, 6001])
})

test('counts the withdrawals that were accepted before', async () => {
  await setAvailable(100n)
  const serviceId = await withdrawalRoute({ payoutLimits: { daily: 60n } })
  await system.withdraw(40n, { request: { serviceId } })
  const { refusals, funds } = await explain(serviceId, 21n)
  expect(refusals).toMatchObject([{ code: 6006 }])
  expect(funds).toMatchObject({ available: 60n, totals: { dayTotal: 40n, periodTotal: 40n } })
  expect(await explain(serviceId, 20n)).toMatchObject({ accepted: true, refusals: [] })
})

test('a route of another merchant, and one that does not exist, is 1004, and nothing of it is shown', async () => {
  const serviceId = await withdrawalRoute({})
  for (const explanation of [await explain(serviceId, 50n, '1'), await explain('0', 50n)]) {
    expect(codesOf(explanation)).toEqual([1004])
    expect([explanation.route, explanation.funds]).toEqual([undefined, undefined])
  }
  await expect(explain(serviceId, 50n, '')).rejects.toMatchObject({ code: 1005 })
})

test('a route whose accounts are all down is 7002, after the refusals by the route', async () => {
  const serviceId = await withdrawalRoute({ minimumAmount: 10n }, ['down-1'])
  await setAvailable(1_000n)
  let explanation = await explain(serviceId, 9n)
  // Five failures open the breaker. On a slow machine it can be half-open again, but the time between probes doubles.
  for (let count = 0; count < 15 && !codesOf(explanation).includes(7002); count += 1) {
    await system.withdraw(10n, { request: { serviceId } })
    explanation = await explain(serviceId, 9n)
  }
  expect(codesOf(explanation)).toEqual([6001, 7002])
  expect(explanation.route?.accounts[0]?.account?.circuitState).not.toBe(CircuitState.CLOSED)
})

test('operators and internal teams may ask, and no role', async () => {
  const serviceId = await withdrawalRoute({})
  const ask = (caller: CallerName) =>
    system.roles
      .client(PaymentService, caller)
      .explainRoute({ merchantId: system.merchant_id, serviceId, amount: 1n })
  expect(await ask('internal')).toMatchObject({ route: { method: 'imps' } })
  await expect(ask('gateway')).rejects.toThrow()
})
