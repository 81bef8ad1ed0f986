import { timestampMs } from '@bufbuild/protobuf/wkt'
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { Environment } from '#gen/multihub/common/v1/environment_pb.ts'
import { Direction } from '#gen/multihub/merchants/v1/route_pb.ts'
import { RouteService } from '#gen/multihub/merchants/v1/route_service_pb.ts'
import { PaymentStatus } from '#gen/multihub/payments/v1/payment_pb.ts'
import { PaymentRefundService } from '#gen/multihub/payments/v1/payment_refund_service_pb.ts'
import { PaymentService } from '#gen/multihub/payments/v1/payment_service_pb.ts'
import { AccountState } from '#gen/multihub/payments/v1/provider_account_pb.ts'
import { ProviderAccountService } from '#gen/multihub/payments/v1/provider_account_service_pb.ts'
import { uuidv7 } from '#lib/base/ids.ts'
import { PRINCIPAL_HEADER } from '#lib/rpc/principal.ts'
import { type PaymentsSystem, startPayments } from './payments-system.fixture.ts'

const { ENABLED, DRAINING, DISABLED } = AccountState
const AMOUNT = 1_000_000n
const REASON = 'it hangs'

let system: PaymentsSystem
beforeAll(async () => {
  system = await startPayments()
})
afterAll(async () => {
  await system[Symbol.asyncDispose]()
})

const accounts = () => system.roles.client(ProviderAccountService, 'backoffice')
const set = (state: AccountState, accountId = 'acme', reason = REASON) =>
  accounts().setAccountState({ accountId, state, reason }, { headers: { [PRINCIPAL_HEADER]: 'asha' } })

const attemptsOf = async (paymentId: string) =>
  (await system.roles.client(PaymentService, 'backoffice').getPayment({ paymentId })).attempts

async function routeOf(direction: Direction, merchantId: string, ...providerAccounts: readonly string[]) {
  const { route } = await system.roles.client(RouteService, 'backoffice').createRoute({
    merchantId,
    environment: Environment.TEST,
    direction,
    method: direction === Direction.IN ? 'upi' : 'imps',
    currency: 'INR',
    connector: 'sandbox',
    providerAccounts: [...providerAccounts],
  })
  return route?.serviceId ?? ''
}

// P20
test('a disabled account gets no new payment, and says who switched it, when and why', async () => {
  const began_ms = Date.now()
  const { account } = await set(DISABLED)
  expect(account).toMatchObject({ state: DISABLED, stateReason: REASON, statePrincipalId: 'asha' })
  expect(timestampMs(account?.stateTime ?? ({ seconds: 0n, nanos: 0 } as never))).toBeGreaterThanOrEqual(
    began_ms,
  )
  const orders = system.provider.orders()
  await expect(system.deposit(AMOUNT, { accounts: ['acme'] })).rejects.toMatchObject({ code: 7002 })
  const other = await system.deposit(AMOUNT, { accounts: ['acme', 'sandbox'] })
  expect(await attemptsOf(other.paymentId)).toMatchObject([{ accountId: 'sandbox' }])
  expect(system.provider.orders()).toBe(orders)
  const listed = (await accounts().listProviderAccounts({})).accounts
  expect(listed.find(({ accountId }) => accountId === 'acme')).toMatchObject({ state: DISABLED })
  expect(listed.find(({ accountId }) => accountId === 'rival')).toMatchObject({
    state: ENABLED,
    stateReason: '',
  })
  await set(ENABLED)
})

// P20
test('a repeated switch changes nothing', async () => {
  const first = await set(DRAINING, 'rival')
  const again = await set(DRAINING, 'rival')
  expect(again.account?.stateTime).toEqual(first.account?.stateTime)
  await set(ENABLED, 'rival')
})

// P20, E9
test.each([DRAINING, DISABLED])('the explanation of a route agrees, in the state %s', async (state) => {
  const serviceId = await routeOf(Direction.IN, system.merchant_id, 'acme')
  await set(state)
  const operator = system.roles.client(PaymentService, 'backoffice')
  const explained = await operator.explainRoute({ merchantId: system.merchant_id, serviceId, amount: AMOUNT })
  expect(explained).toMatchObject({ accepted: false, refusals: [{ code: 7002 }] })
  expect(explained.route?.accounts).toMatchObject([{ account: { state } }])
  await expect(system.deposit(AMOUNT, { request: { serviceId } })).rejects.toMatchObject({ code: 7002 })
  await set(ENABLED)
})

// P20
test.each([
  ['account_id', { accountId: '', state: DISABLED, reason: REASON }, 1005],
  ['account_id', { accountId: 'nobody', state: DISABLED, reason: REASON }, 9000],
  ['state', { accountId: 'acme', reason: REASON }, 1005],
  ['state', { accountId: 'acme', state: 9 as AccountState, reason: REASON }, 9000],
  ['reason', { accountId: 'acme', state: DISABLED }, 1005],
  ['reason', { accountId: 'acme', state: DISABLED, reason: 'x'.repeat(501) }, 9000],
] as const)('a request with a bad %s is refused', async (field, request, code) => {
  await expect(accounts().setAccountState(request)).rejects.toMatchObject({
    code,
    details: { description: field },
  })
})

// P20, S9
test('a refund and a withdrawal at a disabled account wait, and go on when it is enabled', async () => {
  system.provider.answer('success')
  await system.fund(AMOUNT)
  const paid = await system.deposit(AMOUNT, { accounts: ['acme'] })
  await system.waitForStatus(paid.paymentId, PaymentStatus.SUCCESS)
  const orders = system.provider.orders()
  await set(DISABLED)
  const refunds = system.roles.client(PaymentRefundService, 'support')
  const owner = { merchantId: paid.merchantId, environment: Environment.TEST, paymentCId: paid.cId }
  const refundId = uuidv7()
  await refunds.reserveRefund({ ...owner, policy: {}, refundId, cId: refundId, reason: '' })
  await refunds.approveRefund({ ...owner, refundId })
  await expect(system.withdraw(100n, { accounts: ['acme'] })).rejects.toMatchObject({ code: 7002 })
  expect(system.provider.orders()).toBe(orders)
  expect((await system.payment(paid.paymentId)).status).toBe(PaymentStatus.SUCCESS)
  await set(ENABLED)
  await system.waitForStatus(paid.paymentId, PaymentStatus.REFUNDED)
})

// P4, P20
test('a create that was sent before the switch ends by what its provider reports', async () => {
  system.provider.answer('pending')
  const sent = await system.deposit(AMOUNT, { accounts: ['acme', 'sandbox'] })
  const order = await system.provider.order(1)
  await set(DISABLED)
  expect(await system.provider.report(order, { status: 'success' })).toBe(200)
  await system.waitForStatus(sent.paymentId, PaymentStatus.SUCCESS)
  expect(await attemptsOf(sent.paymentId)).toMatchObject([{ accountId: 'acme' }])
  await set(ENABLED)
})
