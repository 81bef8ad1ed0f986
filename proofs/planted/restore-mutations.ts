import type { Mutation } from './mutation.ts'

/** Faults in what keeps facts apart after a restore: their ids, which no path may change (P18). */
export const RESTORE_MUTATIONS: readonly Mutation[] = [
  {
    name: 'the id of a credit follows from its path',
    file: 'services/payments/domain/payment-effects.ts',
    search: '{ payment_id }: Payment, { posting, refund_id, chargeback_id }) =>',
    replace:
      "{ payment_id: id, history }: Payment, { posting, refund_id, chargeback_id }, payment_id = id + ':' + history.length) =>",
  },
  {
    name: 'the key of an event follows from its path',
    file: 'services/payments/domain/payment-event.ts',
    search: 'refund_id === undefined ? eventKeyOf(payment, payment.status)',
    replace: "refund_id === undefined ? payment.payment_id + ':' + payment.history.length",
  },
  {
    name: 'the completed refunds of a payment share one event',
    file: 'services/payments/domain/payment-event.ts',
    search: 'refund_id === undefined ? eventKeyOf(payment, payment.status)',
    replace: 'refund_id === undefined || payment.refunds ? eventKeyOf(payment, payment.status)',
  },
]
