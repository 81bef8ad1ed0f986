import type { BoundEffect, EffectDefinition, EffectHandler } from '#lib/patterns/effects/define-effect.ts'
import { type Payment, requireAdmitted, type StoredPayment } from '../domain/payment.ts'

/** A handler of an effect that only admitted payments have. */
type PaymentEffectHandler<Data> = Omit<EffectHandler<StoredPayment, Data>, 'run'> &
  Pick<EffectHandler<Payment, Data>, 'run'>

/**
 * Binds an effect that follows from a public status, so that its handler gets an admitted payment. A withdrawal that is not
 * admitted has no such effect: meeting one is a fault, and a failed try.
 */
export function bindPaymentEffect<Data>(
  effect: EffectDefinition<Payment, Data>,
  { run, ...limits }: PaymentEffectHandler<Data>,
): BoundEffect<StoredPayment> {
  return effect.bind<StoredPayment>({
    ...limits,
    async run(leased, document) {
      const change = await run(leased, requireAdmitted(document))
      return (current) => change(requireAdmitted(current))
    },
  })
}
