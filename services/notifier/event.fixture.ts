import { create, type MessageInitShape, toBinary } from '@bufbuild/protobuf'
import { timestampFromDate } from '@bufbuild/protobuf/wkt'
import { Environment } from '#gen/multihub/common/v1/environment_pb.ts'
import { type MerchantEvent, MerchantEventSchema } from '#gen/multihub/events/v1/event_pb.ts'
import { now } from '#lib/base/time.ts'
import { fullPayment } from '#lib/contract/payment.fixture.ts'

type EventInit = Exclude<MessageInitShape<typeof MerchantEventSchema>, MerchantEvent>

/** An event about a payment with every optional field set; `changes` replaces fields of the event. */
export function paymentEvent(changes: EventInit = {}): MerchantEvent {
  const payment = fullPayment()
  return create(MerchantEventSchema, {
    // The third transition of the payment: created, processing, success.
    eventKey: `${payment.paymentId}:3`,
    event: 'payment.completed',
    merchantId: payment.merchantId,
    environment: Environment.TEST,
    createTime: timestampFromDate(now()),
    resource: { case: 'payment', value: payment },
    ...changes,
  })
}

/** The same event as the bytes that the bus carries. */
export function eventBytes(changes: EventInit = {}): Uint8Array {
  return toBinary(MerchantEventSchema, paymentEvent(changes))
}
