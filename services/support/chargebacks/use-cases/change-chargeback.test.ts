import { expect, test } from '@jest/globals'
import { Environment } from '#gen/multihub/common/v1/environment_pb.ts'
import { ChargebackStatus } from '#gen/multihub/support/v1/chargeback_pb.ts'
import { startSupportRole } from '../../support-role.fixture.ts'

const { OPEN, UNDER_REVIEW, WON, LOST, ACCEPTED } = ChargebackStatus

// O12.8
test('a repeated move finds its own act also after a later move, and a move that was never done is refused', async () => {
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
    createTime: { seconds: 1n },
  }
  await support.chargebacks.recordChargeback({ debit })
  const move = (status: ChargebackStatus) =>
    support.chargebacks.moveChargeback({ chargebackId: 'cb-1', status, note: '' })
  await move(UNDER_REVIEW)
  await move(LOST)
  for (const status of [UNDER_REVIEW, LOST, UNDER_REVIEW]) {
    const { chargeback } = await move(status)
    expect(chargeback?.status).toBe(LOST)
    expect(chargeback?.history.map((entry) => entry.status)).toEqual([OPEN, UNDER_REVIEW, LOST])
  }
  for (const status of [OPEN, WON, ACCEPTED]) await expect(move(status)).rejects.toMatchObject({ code: 8801 })
  expect(support.returned).toEqual([])
})
