import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { PaymentStatus } from '#gen/multihub/payments/v1/payment_pb.ts'
import { metricsText, resetMetrics } from '#lib/telemetry/metrics.ts'
import { type PaymentsSystem, startPayments } from '../payments-system.fixture.ts'

let system: PaymentsSystem
beforeAll(async () => {
  system = await startPayments()
  await system.fund(1_000n)
})
afterAll(async () => {
  await system[Symbol.asyncDispose]()
})

/** The values of the metrics of payments, without the buckets. */
async function measured(): Promise<readonly string[]> {
  const lines = (await metricsText()).match(/^multihub_payments?_(created_total|seconds_count)\{.*$/gm) ?? []
  return lines.filter((line) => !line.endsWith(' 0'))
}

test('a payment is counted when it begins, and with its account and status when it has ended, each once', async () => {
  resetMetrics()
  system.provider.answer('pending')
  const { paymentId } = await system.deposit(500n, { accounts: ['acme'] })
  const begun = expect.stringMatching(/^multihub_payments_created_total\{.*direction="in"\} 1$/)
  expect(await measured()).toEqual([begun])

  const order = await system.provider.order(system.provider.orders())
  for (let count = 0; count < 2; count += 1)
    expect(await system.provider.report(order, { status: 'success' })).toBe(200)
  await system.waitForStatus(paymentId, PaymentStatus.SUCCESS)
  const ended = /payment_seconds_count\{.*direction="in",provider_account="acme",status="success"\} 1$/
  expect(await measured()).toEqual(expect.arrayContaining([begun, expect.stringMatching(ended)]))
  expect(await measured()).toHaveLength(2)
})

test('a withdrawal that the ledger refuses is no payment', async () => {
  resetMetrics()
  await expect(system.withdraw(1_000_000n)).rejects.toThrow()
  expect(await measured()).toEqual([])
})
