import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { Environment } from '#gen/multihub/common/v1/environment_pb.ts'
import { PaymentRefundService } from '#gen/multihub/payments/v1/payment_refund_service_pb.ts'
import { RefundService } from '#gen/multihub/support/v1/refund_service_pb.ts'
import { eventually } from '../support/eventually.ts'
import type { PublicResponse } from '../support/public-client.ts'
import { type SupportClient, type SupportSystem, startSupport } from './support.fixture.ts'

let system: SupportSystem
let shop: SupportClient
beforeAll(async () => {
  system = await startSupport()
  shop = await system.newMerchant()
})
afterAll(async () => {
  await system[Symbol.asyncDispose]()
})

const request = (c_id: string): Promise<PublicResponse> =>
  shop.call('refund.request', { identifiers: { c_id: randomUUID() }, payment: { c_id } })

const codeOf = (call: Promise<unknown>): Promise<unknown> =>
  call.then(
    () => undefined,
    ({ code }) => code,
  )

describe('a request whose caller is gone', () => {
  const reserve = (c_id: string, refundId: string, amount: bigint, currencies: readonly string[] = []) =>
    system.roles.client(PaymentRefundService, 'support').reserveRefund({
      merchantId: shop.merchant_id,
      environment: Environment.TEST,
      paymentCId: c_id,
      refundId,
      cId: refundId,
      amount,
      reason: 'late',
      policy: { currencies: [...currencies] },
    })

  // S3: support crashed after the payment had decided.
  test('becomes a refund, because the payment reports it', async () => {
    const { c_id } = await shop.deposit()
    const h_id = randomUUID()
    await reserve(c_id, h_id, 5n)
    const { body } = await eventually(
      () => shop.call('refund.get', { identifiers: { h_id } }),
      (response) => response?.http_status === 200,
    )
    expect(body.result).toMatchObject({
      identifiers: { c_id: h_id },
      status: 'pending',
      amount: '5',
      reason: 'late',
    })
    expect((await reserve(c_id, h_id, 5n)).change?.number).toBe(1)
    expect(await codeOf(reserve(c_id, randomUUID(), 5n))).toBe(11005)
  })

  // S8: the credential was restricted between the request and its repetition.
  test('gets its refund when it is repeated with a credential that may not use the payment any more', async () => {
    const { c_id } = await shop.deposit()
    const h_id = randomUUID()
    expect(await codeOf(reserve(c_id, h_id, 5n, ['TRY']))).toBe(3008)
    await reserve(c_id, h_id, 5n, ['INR'])
    expect((await reserve(c_id, h_id, 5n, ['TRY'])).change?.number).toBe(1)
    expect(await codeOf(reserve(c_id, randomUUID(), 5n, ['TRY']))).toBe(3008)
  })

  // S8: the network delivers a request again, late.
  test('stays refused when it arrives again, also when the payment has room by then', async () => {
    const { c_id } = await shop.deposit()
    const late = randomUUID()
    const blocking = (await request(c_id)).body.result.identifiers.h_id
    expect(await codeOf(reserve(c_id, late, 5n))).toBe(11005)
    await system.operator(RefundService).cancelRefund({ refundId: blocking })
    expect(await codeOf(reserve(c_id, late, 5n))).toBe(11005)
    expect((await request(c_id)).http_status).toBe(200)
  })
})
