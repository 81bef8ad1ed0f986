import { TimelineService } from '#gen/multihub/backoffice/v1/timeline_service_pb.ts'
import type { Payment } from '#gen/multihub/payments/v1/payment_pb.ts'
import { type Act, act } from './act.ts'

/** The act that shows what identifies a person. */
export function revealAct(reveal: (reason: string) => Promise<void>): Act<Payment> {
  return act({
    name: 'Reveal',
    method: TimelineService.method.getTimeline,
    rights: ['reveal'],
    reason: 'required',
    isOffered: ({ eraseTime }: Payment) => eraseTime === undefined,
    effects: () => [
      'Names, accounts, phones and e-mails of this payment are shown on this page until you leave it.',
      'The audit trail keeps that you have read them, and why.',
    ],
    async run({ reason }) {
      await reveal(reason)
      return {}
    },
  })
}
