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

/** The act that tries an effect of tickets, refunds or chargebacks again. */
export const retrySupportEffect = (documents: string): Act<SupportEffect> =>
  act({
    name: 'Try again',
    method: EffectService.method.retryEffect,
    effects: () => EFFECTS,
    request: ({ documentId, effectId }: SupportEffect) => ({ documents, documentId, effectId }),
  })
