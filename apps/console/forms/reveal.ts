import { type GetTimelineResponse, TimelineService } from '#gen/multihub/backoffice/v1/timeline_service_pb.ts'
import { DeliveryService, type GetDeliveryResponse } from '#gen/multihub/notifier/v1/delivery_service_pb.ts'
import type { Payment } from '#gen/multihub/payments/v1/payment_pb.ts'
import { type Act, act } from './act.ts'

const AUDITED = 'The audit trail keeps that you have read them, and why.'

/** The act that shows what identifies the person of a payment. */
export function revealPayment(show: (answer: GetTimelineResponse) => void): Act<Payment> {
  return act({
    name: 'Reveal',
    method: TimelineService.method.getTimeline,
    rights: ['reveal'],
    reason: 'required',
    isOffered: ({ eraseTime }: Payment) => eraseTime === undefined,
    effects: () => [
      'Names, accounts, phones and e-mails of this payment are shown on this page until you leave it.',
      AUDITED,
    ],
    request: ({ paymentId }) => ({ paymentId, reveal: true }),
    outcome: showing(show),
  })
}

/** The act that shows the body of a callback and the beginnings of its responses. */
export function revealDelivery(show: (answer: GetDeliveryResponse) => void): Act<string> {
  return act({
    name: 'Show body',
    method: DeliveryService.method.getDelivery,
    rights: ['reveal'],
    reason: 'required',
    effects: () => [
      'The body of this callback and the beginnings of its responses are shown on this page until you leave it.',
      AUDITED,
    ],
    request: (deliveryId: string) => ({ deliveryId, reveal: true }),
    outcome: showing(show),
  })
}

function showing<T>(show: (answer: T) => void) {
  return (answer: T) => {
    show(answer)
    return {}
  }
}
