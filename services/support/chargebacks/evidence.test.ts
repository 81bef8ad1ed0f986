import { timestampFromDate } from '@bufbuild/protobuf/wkt'
import { expect, test } from '@jest/globals'
import { Environment } from '#gen/multihub/common/v1/environment_pb.ts'
import { now } from '#lib/platform/time.ts'
import { startSupportRole } from '../support-role.fixture.ts'

// S10
test('a chargeback has at most 20 files; one more is refused and given back, and a repetition is not', async () => {
  await using support = await startSupportRole()
  await support.chargebacks.recordChargeback({
    debit: {
      merchantId: '7001',
      environment: Environment.TEST,
      chargebackId: 'cb-1',
      paymentId: 'p',
      paymentCId: 'c',
      paymentHId: 'h',
      reasonCode: '10.4',
      amount: { minor: 900n, currency: 'INR' },
      createTime: timestampFromDate(now()),
    },
  })
  const add = (attachmentId: string) =>
    support.chargebacks.addEvidence({ chargebackId: 'cb-1', attachmentId })
  const ids = Array.from({ length: 20 }, (_, number) => `file-${number}`)
  for (const id of ids) await add(id)
  await expect(add('file-20')).rejects.toMatchObject({ code: 8801 })
  expect(support.released).toEqual(['file-20'])
  const { chargeback } = await add('file-0')
  expect(chargeback?.evidence.map(({ attachmentId }) => attachmentId)).toEqual(ids)
  expect(support.released).toEqual(['file-20'])
})
