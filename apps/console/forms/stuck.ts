import {
  type StuckEffect as PaymentEffect,
  PaymentService,
} from '#gen/multihub/payments/v1/payment_service_pb.ts'
import {
  EffectService,
  type StuckEffect as SupportEffect,
} from '#gen/multihub/support/v1/effect_service_pb.ts'
import { type Act, act } from './act.ts'

const EFFECTS = [
  'The effect is tried once more now. It has one id, so what was done already is not done twice.',
  'What depends on it follows when it succeeds.',
]

/** The act that tries an effect of a payment again. */
export const retryPaymentEffect = act({
  name: 'Try again',
  method: PaymentService.method.retryEffect,
  effects: (_effect: PaymentEffect) => EFFECTS,
  request: ({ paymentId, effectId }) => ({ paymentId, effectId }),
})

/** The act that ends an entry which no retry can post, in favour of an adjustment. */
export const giveUpPaymentEffect = act({
  name: 'Give up',
  method: PaymentService.method.giveUpEffect,
  isOffered: ({ kind }: PaymentEffect) => kind === 'post_entry',
  effects: () => [
    'The entry is never posted. What waits for it follows, such as the callback of the merchant, and its anomaly is dismissed. It cannot be undone.',
    'Correct the balance first, by an adjustment with this payment: nothing else books the amount.',
    'Only an entry that the ledger refused with 1013 or 8801 can be given up. Try any other again.',
  ],
  fields: () => [
    { name: 'correction_entry_id', label: 'Entry of the adjustment', help: 'Such as adjust:1001:case-17.' },
  ],
  request: ({ paymentId, effectId }) => ({ paymentId, effectId }),
  confirm: ({ paymentId }) => paymentId,
})

/** The act that tries an effect of tickets, refunds or chargebacks again. */
export const retrySupportEffect = (documents: string): Act<SupportEffect> =>
  act({
    name: 'Try again',
    method: EffectService.method.retryEffect,
    effects: () => EFFECTS,
    request: ({ documentId, effectId }: SupportEffect) => ({ documents, documentId, effectId }),
  })
