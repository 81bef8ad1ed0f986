import { type BalanceGetOptions, balanceGet } from './balance-get.ts'
import { gatewayPing } from './gateway-ping.ts'
import { createRegistry, type MethodRegistry } from './method.ts'
import { type PaymentInOptions, paymentIn } from './payment-in.ts'
import { paymentNotification } from './payment-notification.ts'
import { paymentStatus } from './payment-status.ts'

/** What the public methods call. */
export type PublicMethodsOptions = PaymentInOptions & BalanceGetOptions

/** Every method that merchants can call (spec: Endpoints). */
export function createPublicMethods(options: PublicMethodsOptions): MethodRegistry {
  return createRegistry([
    gatewayPing(),
    paymentIn(options),
    paymentStatus(options.payments),
    paymentNotification(options.payments),
    balanceGet(options),
  ])
}
