import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { Environment } from '#gen/multihub/common/v1/environment_pb.ts'
import { PaymentStatus } from '#gen/multihub/payments/v1/payment_pb.ts'
import { PaymentService } from '#gen/multihub/payments/v1/payment_service_pb.ts'
import { CircuitState, type ProviderAccount } from '#gen/multihub/payments/v1/provider_account_pb.ts'
import { ProviderAccountService } from '#gen/multihub/payments/v1/provider_account_service_pb.ts'
import { metricsText } from '#lib/telemetry/metrics.ts'
import { type PaymentsSystem, startPayments } from './payments-system.fixture.ts'

const { ERROR, PROCESSING } = PaymentStatus
const AMOUNT = 1_000_000n

let system: PaymentsSystem
beforeAll(async () => {
  system = await startPayments()
})
afterAll(async () => {
  await system[Symbol.asyncDispose]()
})

async function account(id: string): Promise<ProviderAccount> {
  const client = system.roles.client(ProviderAccountService, 'backoffice')
  const { accounts } = await client.listProviderAccounts({})
  const found = accounts.find(({ accountId }) => accountId === id)
  if (!found) throw new Error(`the account ${id} is not listed`)
  return found
}

/**
 * Creates payments on an account whose breaker is open until one is refused, and returns its `c_id`. On a slow machine a
 * payment can be the probe instead, but the time between probes doubles.
 */
async function refusedWhileDown(direction: 'deposit' | 'withdraw'): Promise<string> {
  for (let count = 0; count < 10; count += 1) {
    const c_id = `${direction}-${count}`
    const refusal: unknown = await system[direction](AMOUNT, { c_id, accounts: ['down-1'] }).then(
      () => undefined,
      (error: unknown) => error,
    )
    if (refusal === undefined) continue
    expect(refusal).toMatchObject({ code: 7002 })
    return c_id
  }
  throw new Error('no payment was refused')
}

// E9, P4
test('an account that fails five times in a row is skipped, and a route without another one answers 7002', async () => {
  await system.fund(AMOUNT)
  expect(await account('down-1')).toMatchObject({ circuitState: CircuitState.CLOSED, failures: 0 })
  for (let count = 0; count < 5; count += 1)
    expect(await system.deposit(AMOUNT, { c_id: `before-${count}`, accounts: ['down-1'] })).toMatchObject({
      status: ERROR,
      errorCode: 7002,
    })
  const down = await account('down-1')
  expect(down).toMatchObject({ lastFailure: 'refused', connector: 'sandbox' })
  expect([down.circuitChangeTime, down.lastFailureTime]).toEqual([expect.anything(), expect.anything()])
  expect(down.circuitState).not.toBe(CircuitState.CLOSED)
  expect(down.failures).toBeGreaterThanOrEqual(5)
  const metrics = await metricsText()
  expect(metrics).toMatch(/multihub_provider_circuit_open\{provider_account="down-1"\} 1/)
  const creates = 'provider_account="down-1",operation="create",outcome="not_sent"'
  expect(metrics).toMatch(new RegExp(`multihub_provider_call_seconds_count\\{${creates}\\} [5-9]`))

  // Nothing is stored under the references of refused payments, and nothing is held for them.
  const freed = [await refusedWhileDown('deposit'), await refusedWhileDown('withdraw')]
  expect(await system.balance()).toMatchObject({ available: AMOUNT, held: 0n })
  // A duplicate is refused as one, though the account is down.
  await expect(system.deposit(AMOUNT, { c_id: 'before-0', accounts: ['down-1'] })).rejects.toMatchObject({
    code: 6009,
  })
  system.provider.answer('pending')
  const orders = system.provider.orders()
  for (const c_id of freed)
    expect(await system.deposit(AMOUNT, { c_id, accounts: ['down-1', 'acme'] })).toMatchObject({
      status: PROCESSING,
    })
  expect(system.provider.orders()).toBe(orders + 2)
})

// O7: an operator can explain the payment, whichever of its names the merchant gave.
test('a payment keeps each create at an account and each report that changed it', async () => {
  await using fresh = await startPayments()
  const { provider, merchant_id: merchantId } = fresh
  provider.answer('pending')
  const { paymentId, hId } = await fresh.deposit(AMOUNT, { c_id: 'kept', accounts: ['down-1', 'acme'] })
  const order = await provider.order(1)
  await provider.report(order, { status: 'success' })
  await provider.report(order, { status: 'success' })
  await fresh.waitForStatus(paymentId, PaymentStatus.SUCCESS)
  const client = fresh.roles.client(PaymentService, 'backoffice')
  const found = await client.getPayment({ merchantId, environment: Environment.TEST, cId: 'kept' })
  expect(found.payment?.paymentId).toBe(paymentId)
  expect(found.attempts).toMatchObject([
    { number: 1, accountId: 'down-1', outcome: 'not_sent', reason: expect.any(String) },
    { number: 2, accountId: 'acme', outcome: 'pending', httpStatus: 200, providerId: expect.any(String) },
  ])
  expect(found.attempts[0]?.httpStatus).toBeUndefined()
  for (const { createTime, durationMs } of found.attempts) {
    expect(createTime).toBeDefined()
    // A number in JSON too, as of deliveries.
    expect(typeof durationMs).toBe('number')
  }
  const [, { providerId } = {}] = found.attempts
  expect(found.reports).toMatchObject([{ number: 2, outcome: 'success', isCallback: true, providerId }])
  expect(await client.getPayment({ hId })).toEqual(await client.getPayment({ paymentId }))
  await expect(client.getPayment({})).rejects.toMatchObject({ code: 1005 })
  await expect(client.getPayment({ hId, paymentId })).rejects.toMatchObject({ code: 9000 })
  await expect(client.getPayment({ cId: 'kept' })).rejects.toMatchObject({ code: 1005 })
})

test('refusals by the provider open no breaker', async () => {
  system.provider.answer('declined')
  for (let count = 0; count < 10; count += 1)
    expect(await system.deposit(AMOUNT, { accounts: ['acme'] })).toMatchObject({ errorCode: 6044 })
  expect(await account('acme')).toMatchObject({ circuitState: CircuitState.CLOSED, failures: 0 })
})

test('the built-in accounts of the sandbox are never skipped', async () => {
  for (let count = 0; count < 7; count += 1)
    expect(await system.deposit(AMOUNT, { accounts: ['sandbox-down'] })).toMatchObject({ errorCode: 7002 })
  expect(await account('sandbox-down')).toMatchObject({ circuitState: CircuitState.CLOSED })
})
