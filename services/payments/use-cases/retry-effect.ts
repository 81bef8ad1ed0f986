import { PublicError } from '#lib/contract/errors/public-error.ts'
import type { EffectRunner } from '#lib/patterns/effects/runner.ts'
import type { Collection } from '#lib/platform/store/store.ts'
import type { Payment } from '../domain/payment.ts'
import { keyOfPayment } from '../store/payments.ts'
import { getPayment } from './get-payment.ts'

/**
 * Runs a stuck effect again. Throws 6010 for an unknown payment, and 8801 when it has no such stuck effect, also when
 * another caller has retried it at the same time.
 */
export async function retryEffect(
  payments: Collection<Payment>,
  runner: EffectRunner<Payment>,
  payment_id: string,
  effect_id: string,
): Promise<Payment> {
  const payment = await getPayment(payments, payment_id)
  const retried = await runner.retry(keyOfPayment(payment), effect_id)
  if (!retried) throw new PublicError(8801)
  return retried
}
