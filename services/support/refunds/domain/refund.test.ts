import { fromBinary } from '@bufbuild/protobuf'
import { expect, test } from '@jest/globals'
import { MerchantEventSchema } from '#gen/multihub/events/v1/event_pb.ts'
import { publishEventEffect } from '#lib/patterns/effects/publish-event.ts'
import { applyRefundChange, newRefund, type RefundChange } from './refund.ts'

// S12, O11
test('no event carries a reason', () => {
  const change: RefundChange = {
    refund: {
      merchant_id: '7001',
      environment: 'test',
      refund_id: 'r-1',
      c_id: 'order-1',
      payment: { payment_id: 'p', c_id: 'c', h_id: 'h' },
      amount: 5n,
      currency: 'INR',
    },
    number: 1,
    status: 'pending',
    reason: 'Ann Other returned it',
    at: new Date('2026-11-24T12:00:00.000Z'),
  }
  const requested = newRefund(change)
  const rejected = applyRefundChange(requested, {
    ...change,
    number: 2,
    status: 'rejected',
    reason: 'Ann again',
  })
  expect([rejected.reason, rejected.operator_reason]).toEqual(['Ann Other returned it', 'Ann again'])
  const events = rejected.effects.filter(publishEventEffect.matches)
  expect(events).toHaveLength(2)
  for (const { data } of events) {
    const { resource } = fromBinary(MerchantEventSchema, data['message'] as Uint8Array)
    expect(resource.value).toMatchObject({ refundId: 'r-1', reason: '', operatorReason: '' })
  }
})
