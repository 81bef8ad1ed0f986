import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { PaymentStatus } from '#gen/multihub/payments/v1/payment_pb.ts'
import { CircuitState, type ProviderAccount } from '#gen/multihub/payments/v1/provider_account_pb.ts'
import { ProviderAccountService } from '#gen/multihub/payments/v1/provider_account_service_pb.ts'
import { metricsText } from '#lib/platform/telemetry/metrics.ts'
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
  const client = system.roles.client(ProviderAccountService, 'operator')
  const { accounts } = await client.listProviderAccounts({})
  const found = accounts.find(({ accountId }) => accountId === id)
  if (!found) throw new Error(`the account ${id} is not listed`)
  return found
}

// E9, P4
test('an account that fails five times in a row is skipped, and a route without another one answers 7002', async () => {
  expect(await account('down-1')).toMatchObject({ circuitState: CircuitState.CLOSED, failures: 0 })
  for (let count = 0; count < 5; count += 1)
    expect(await system.deposit(AMOUNT, { c_id: `before-${count}`, accounts: ['down-1'] })).toMatchObject({
      status: ERROR,
      errorCode: 7002,
    })
  expect(await account('down-1')).toMatchObject({
    circuitState: CircuitState.OPEN,
    circuitChangeTime: expect.anything(),
    failures: 5,
    lastFailure: 'refused',
    lastFailureTime: expect.anything(),
    connector: 'sandbox',
  })
  expect(await metricsText()).toMatch(/multihub_provider_circuit_open\{provider_account="down-1"\} 1/)

  const refused = { c_id: 'freed', accounts: ['down-1'] }
  await expect(system.deposit(AMOUNT, refused)).rejects.toMatchObject({ code: 7002 })
  // A duplicate comes first, and nothing was stored under the refused reference.
  await expect(system.deposit(AMOUNT, { c_id: 'before-0', accounts: ['down-1'] })).rejects.toMatchObject({
    code: 6009,
  })
  system.provider.answer('pending')
  const orders = system.provider.orders()
  expect(await system.deposit(AMOUNT, { c_id: 'freed', accounts: ['down-1', 'acme'] })).toMatchObject({
    status: PROCESSING,
  })
  expect(system.provider.orders()).toBe(orders + 1)
  expect(await account('down-1')).toMatchObject({ failures: 5 })
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
