import { PersonalDataService } from '#gen/multihub/backoffice/v1/personal_data_service_pb.ts'
import type { Payment } from '#gen/multihub/payments/v1/payment_pb.ts'
import type { Ticket } from '#gen/multihub/support/v1/ticket_pb.ts'
import { act } from './act.ts'

const FINAL = 'Amounts, ids and states stay. It cannot be undone, and no backup brings it back.'

/** Destroys what identifies the person of a payment. */
export const erasePayment = act({
  name: 'Erase the person',
  method: PersonalDataService.method.erasePerson,
  isOffered: ({ eraseTime }: Payment) => eraseTime === undefined,
  effects: () => [
    'Name, account, phone, e-mail and documents of this payment are destroyed, also in its callbacks, tickets and files.',
    FINAL,
    'Its callbacks cannot be sent again. It is refused until the payment and its refunds have ended.',
  ],
  request: ({ merchantId, paymentId }) => ({
    merchantId,
    person: { case: 'paymentId' as const, value: paymentId },
  }),
  confirm: () => 'erase',
})

/** Destroys the texts and files of a ticket. */
export const eraseTicket = act({
  name: 'Erase the person',
  method: PersonalDataService.method.erasePerson,
  effects: (_ticket: Ticket) => [
    'Title, texts and files of this ticket and of its answers are destroyed. What its payment has besides stays.',
    FINAL,
  ],
  request: ({ merchantId, ticketId }) => ({
    merchantId,
    person: { case: 'ticketId' as const, value: ticketId },
  }),
  confirm: () => 'erase',
})
