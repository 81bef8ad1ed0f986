import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { Environment } from '#gen/multihub/common/v1/environment_pb.ts'
import { ActService } from '#gen/multihub/payments/v1/act_service_pb.ts'
import { PaymentStatus } from '#gen/multihub/payments/v1/payment_pb.ts'
import { PaymentRefundService } from '#gen/multihub/payments/v1/payment_refund_service_pb.ts'
import { uuidv7 } from '#lib/base/ids.ts'
import { AUDIT_HEADER } from '#lib/rpc/settings.ts'
import { type PaymentsSystem, startPayments } from './payments-system.fixture.ts'

let system: PaymentsSystem
beforeAll(async () => {
  system = await startPayments()
})
afterAll(async () => {
  await system[Symbol.asyncDispose]()
})

// O4: its process can be lost before it writes the refusal, and the act would be completed as done.
test('an approval of a refund that the ledger refuses is no act that was done', async () => {
  const { paymentId } = await system.deposit(1_000n, { c_id: 'refunded' })
  await system.waitForStatus(paymentId, PaymentStatus.SUCCESS)
  await system.fund(-1_000n)
  const support = system.roles.client(PaymentRefundService, 'support')
  const scope = { merchantId: system.merchant_id, environment: Environment.TEST, paymentCId: 'refunded' }
  await support.reserveRefund({
    ...scope,
    policy: { serviceIds: [], currencies: [] },
    refundId: 'r-1',
    cId: 'r-1',
    amount: 1_000n,
    reason: '',
  })
  const isDone = async (audit_id: string): Promise<boolean> => {
    const call = {
      auditId: audit_id,
      rpc: 'multihub.support.v1.RefundService/ApproveRefund',
      request: JSON.stringify({ refundId: 'r-1' }),
    }
    return (await system.roles.client(ActService, 'backoffice').findAct(call)).isDone
  }
  const approve = (audit_id: string): Promise<object> =>
    support.approveRefund({ ...scope, refundId: 'r-1' }, { headers: { [AUDIT_HEADER]: audit_id } })
  const refused = uuidv7()
  await expect(approve(refused)).rejects.toMatchObject({ code: 6004 })
  expect(await isDone(refused)).toBe(false)
  await system.fund(1_000n)
  const accepted = uuidv7()
  await approve(accepted)
  expect(await isDone(accepted)).toBe(true)
})
