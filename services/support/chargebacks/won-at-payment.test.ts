import { timestampFromDate } from '@bufbuild/protobuf/wkt'
import { expect, test } from '@jest/globals'
import { Environment } from '#gen/multihub/common/v1/environment_pb.ts'
import { ChargebackStatus } from '#gen/multihub/support/v1/chargeback_pb.ts'
import { now } from '#lib/base/time.ts'
import { startSupportRole } from '../support-role.fixture.ts'

// P18: the ledger of an ordered backup can have the return of a chargeback that support had not stored when it was read.
test('a chargeback that its payment knows as won is won', async () => {
  await using support = await startSupportRole()
  const debit = {
    merchantId: '7001',
    environment: Environment.TEST,
    chargebackId: 'cb-1',
    paymentId: 'p',
    paymentCId: 'c',
    paymentHId: 'h',
    reasonCode: '10.4',
    amount: { minor: 900n, currency: 'INR' },
    createTime: timestampFromDate(now()),
    won: true,
  }
  for (let times = 1; times <= 2; times += 1) await support.chargebacks.recordChargeback({ debit })
  const { chargebacks } = await support.chargebacks.listChargebacks({ merchantId: '7001' })
  expect(chargebacks).toHaveLength(1)
  expect(chargebacks[0]?.status).toBe(ChargebackStatus.WON)
  expect(chargebacks[0]?.history.map(({ status }) => status)).toEqual([
    ChargebackStatus.OPEN,
    ChargebackStatus.WON,
  ])
})
