import { timestampFromDate } from '@bufbuild/protobuf/wkt'
import { expect, test } from '@jest/globals'
import { Environment } from '#gen/multihub/common/v1/environment_pb.ts'
import { RefundStatus } from '#gen/multihub/payments/v1/refund_pb.ts'
import { machineClock, now, useClock } from '#lib/base/time.ts'
import { update } from '#lib/patterns/update.ts'
import { type SupportRole, startSupportRole } from '../support-role.fixture.ts'

const MERCHANT = '7001'

/** Reports a change of a refund as payments does. */
const report = (
  { refunds }: SupportRole,
  number: number,
  status: RefundStatus,
  refundId = 'r-1',
  environment: Environment = Environment.TEST,
) =>
  refunds.recordRefundChange({
    change: {
      merchantId: MERCHANT,
      environment,
      refundId,
      number,
      status,
      paymentId: 'p',
      paymentCId: 'c',
      paymentHId: 'h',
      amount: { minor: 5n, currency: 'INR' },
      cId: number === 1 ? 'order-1' : '',
      reason: '',
      changeTime: timestampFromDate(now()),
    },
  })

const refundsOf = async ({ refunds }: SupportRole) =>
  (await refunds.listRefunds({ merchantId: MERCHANT })).refunds.map(({ refundId, status }) => [
    refundId,
    status,
  ])

// S7: payments repeats each report until it is stored, in any order.
test('a report that comes before an earlier one comes too early until that is stored, and a known one changes nothing', async () => {
  await using support = await startSupportRole()
  await expect(report(support, 2, RefundStatus.APPROVED)).rejects.toMatchObject({ code: 2002 })
  await report(support, 1, RefundStatus.PENDING)
  await expect(report(support, 3, RefundStatus.REJECTED)).rejects.toMatchObject({ code: 2002 })
  expect(await refundsOf(support)).toEqual([['r-1', RefundStatus.PENDING]])
  await report(support, 2, RefundStatus.APPROVED)
  await report(support, 3, RefundStatus.COMPLETED)
  await report(support, 3, RefundStatus.COMPLETED)
  await report(support, 2, RefundStatus.APPROVED)
  await report(support, 1, RefundStatus.PENDING)
  expect(await refundsOf(support)).toEqual([['r-1', RefundStatus.COMPLETED]])
})

// S3: the c_id of a refund is its key.
test('a report of another refund under a used c_id is refused', async () => {
  await using support = await startSupportRole()
  await report(support, 1, RefundStatus.PENDING)
  await expect(report(support, 1, RefundStatus.PENDING, 'r-2')).rejects.toMatchObject({ code: 2001 })
  expect(await refundsOf(support)).toEqual([['r-1', RefundStatus.PENDING]])
})

// O25.2: the key of an ended refund is freed before the refund is deleted, and a crash can come in between.
test.each([
  [Environment.TEST, 8, 'takes the place of'],
  [Environment.TEST, 6, 'is refused for'],
  [Environment.PRODUCTION, 8, 'is refused for'],
])(
  'in environment %i another refund, %i days after its end, %s the refund with its c_id',
  async (environment, days, result) => {
    await using support = await startSupportRole()
    await report(support, 1, RefundStatus.PENDING, 'r-1', environment)
    await report(support, 2, RefundStatus.CANCELED, 'r-1', environment)
    const key = {
      merchant_id: MERCHANT,
      environment: environment === Environment.TEST ? 'test' : 'production',
      c_id: 'order-1',
    }
    // No notifier takes its events.
    await update(support.store.refunds, key, (refund) => ({ ...refund, effects: [] }))
    const now_ms = (): number => machineClock.now_ms() + days * 86_400_000
    using _later = { [Symbol.dispose]: useClock({ ...machineClock, now_ms }) }
    // A report that is repeated so late is known all the same.
    await report(support, 1, RefundStatus.PENDING, 'r-1', environment)
    expect(await refundsOf(support)).toEqual([['r-1', RefundStatus.CANCELED]])
    const reported = report(support, 1, RefundStatus.PENDING, 'r-2', environment)
    if (result === 'is refused for') await expect(reported).rejects.toMatchObject({ code: 2001 })
    else await reported
    expect(await refundsOf(support)).toEqual(
      result === 'is refused for' ? [['r-1', RefundStatus.CANCELED]] : [['r-2', RefundStatus.PENDING]],
    )
  },
)
