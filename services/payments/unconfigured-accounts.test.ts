import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { timestampMs } from '@bufbuild/protobuf/wkt'
import { expect, test } from '@jest/globals'
import { Environment } from '#gen/multihub/common/v1/environment_pb.ts'
import { PaymentStatus } from '#gen/multihub/payments/v1/payment_pb.ts'
import { PaymentRefundService } from '#gen/multihub/payments/v1/payment_refund_service_pb.ts'
import { PaymentService } from '#gen/multihub/payments/v1/payment_service_pb.ts'
import { ProviderAccountService } from '#gen/multihub/payments/v1/provider_account_service_pb.ts'
import { uuidv7 } from '#lib/base/ids.ts'
import { metricsText } from '#lib/telemetry/metrics.ts'
import { eventually } from '../../test/support/eventually.ts'
import { type PaymentsSystem, startPayments } from './payments-system.fixture.ts'
import { startProvider } from './scripted-provider.fixture.ts'

const AMOUNT = 1_000_000n

/** The accounts that are not configured, and how many open payments the summary counts at them. */
async function unconfigured({ roles }: PaymentsSystem) {
  const accounts = roles.client(ProviderAccountService, 'backoffice')
  const { accounts: listed } = await accounts.listUnconfiguredAccounts({})
  const { unconfiguredPayments } = await roles.client(PaymentService, 'backoffice').summarizePayments({})
  return {
    accounts: listed.map(({ accountId, openPayments }) => [accountId, openPayments?.count]),
    count: unconfiguredPayments?.count,
  }
}

// O18
test('an account that was taken out of the settings is reported while its payments have not ended', async () => {
  const directory = await mkdtemp(join(tmpdir(), 'multihub-unconfigured-'))
  const provider = await startProvider()
  const accountNamed = (account_id: string) => ({
    connector: 'sandbox',
    environment: 'test',
    account_id,
    base_url: provider.url,
    key: provider.key,
  })
  const both = [accountNamed('gone'), accountNamed('retired')]
  try {
    {
      await using system = await startPayments({ directory, accounts: both })
      provider.answer('pending')
      for (const account of ['gone', 'gone'])
        expect(await system.deposit(AMOUNT, { accounts: [account] })).toMatchObject({
          status: PaymentStatus.PROCESSING,
        })
      provider.answer('success')
      const { paymentId } = await system.deposit(AMOUNT, { accounts: ['retired'] })
      await system.waitForStatus(paymentId, PaymentStatus.SUCCESS)
      expect(await unconfigured(system)).toEqual({ accounts: [], count: 0 })
      provider.answer('pending')
    }
    await using system = await startPayments({ directory })
    expect(await unconfigured(system)).toEqual({ accounts: [['gone', 2]], count: 2 })
  } finally {
    await provider.stop()
    await rm(directory, { recursive: true, force: true })
  }
})

/** The failed tries of the polls so far. */
async function failedPolls(): Promise<number> {
  const [, count = '0'] =
    /^multihub_effect_failures_total\{kind="poll_provider"\} (\d+)$/m.exec(await metricsText()) ?? []
  return Number(count)
}

test('a payment with an approved refund at such an account is among them, and each poll of the refund fails', async () => {
  const directory = await mkdtemp(join(tmpdir(), 'multihub-unconfigured-'))
  const provider = await startProvider()
  const { url: base_url, key } = provider
  const gone = { connector: 'sandbox', environment: 'test', account_id: 'gone', base_url, key }
  let since = 0
  try {
    {
      await using system = await startPayments({ directory, accounts: [gone] })
      provider.answer('success')
      const refunds = system.roles.client(PaymentRefundService, 'support')
      const reserveRefund = async () => {
        const { paymentId, merchantId, cId } = await system.deposit(AMOUNT, { accounts: ['gone'] })
        await system.waitForStatus(paymentId, PaymentStatus.SUCCESS)
        const owner = { merchantId, environment: Environment.TEST, paymentCId: cId }
        const refundId = uuidv7()
        await refunds.reserveRefund({ ...owner, policy: {}, refundId, cId: refundId, reason: '' })
        return { ...owner, refundId }
      }
      // Nobody has approved it, so no provider is asked about it.
      await reserveRefund()
      const refund = await reserveRefund()
      provider.answer('pending')
      since = Date.now()
      await refunds.approveRefund(refund)
    }
    const before = await failedPolls()
    {
      await using system = await startPayments({ directory })
      await eventually(failedPolls, (count = 0) => count > before)
      expect(await unconfigured(system)).toEqual({ accounts: [['gone', 1]], count: 1 })
      const { accounts } = await system.roles
        .client(ProviderAccountService, 'backoffice')
        .listUnconfiguredAccounts({})
      const oldest = accounts[0]?.openPayments?.oldestTime
      expect(oldest && timestampMs(oldest)).toBeGreaterThanOrEqual(since)
    }
    await using system = await startPayments({ directory, accounts: [gone] })
    expect(await unconfigured(system)).toEqual({ accounts: [], count: 0 })
  } finally {
    await provider.stop()
    await rm(directory, { recursive: true, force: true })
  }
})
