import type { BoundEffect } from '#lib/patterns/effects/define-effect.ts'
import { now } from '#lib/platform/time.ts'
import { declineExpired } from '../domain/apply-provider-update.ts'
import type { Payment } from '../domain/payment.ts'
import { expirePaymentEffect } from '../domain/payment-effects.ts'

const LEASE_MS = 5_000
/** The effect calls nothing outside, so only crashes use up its tries. */
const TRIES_MAX = 20

/** Declines the payment unless it is final already. */
export function bindExpirePayment(): BoundEffect<Payment> {
  return expirePaymentEffect.bind<Payment>({
    lease_ms: LEASE_MS,
    tries_max: TRIES_MAX,
    run: async () => (current) => declineExpired(current, now()),
  })
}
