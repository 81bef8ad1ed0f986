import { checkBankAccount } from '#lib/contract/bank-account.ts'
import { fieldError, PublicError } from '#lib/contract/errors/public-error.ts'
import { AMOUNT_MAX } from '#lib/contract/money.ts'
import { permitsRoute } from '#lib/contract/policy.ts'
import type { AccountSelection } from '../connectors/account-selection.ts'
import type { CreatePaymentRequest } from '../domain/new-payment.ts'
import type { PaymentRoute } from '../domain/payment.ts'

/** What finding the route of a payment needs. */
export interface PermittedRouteDeps extends Pick<AccountSelection, 'hasAccount'> {
  findRoute(service_id: string): Promise<PaymentRoute | undefined>
}

/** The public field of the amount, which 6001 names. */
export const AMOUNT_FIELD = 'params.payment.amount.value'

/**
 * Finds the route of a request, and throws the first refusal of E9 that neither the store nor the ledger decides: by the
 * route, the policy of the credential, the amount, the currency and the bank account.
 */
export async function findPermittedRoute(
  deps: PermittedRouteDeps,
  request: CreatePaymentRequest,
): Promise<PaymentRoute> {
  const { merchant_id, environment, amount, beneficiary } = request
  const route = await deps.findRoute(request.service_id)
  if (route?.merchant_id !== merchant_id || route.environment !== environment) throw new PublicError(1004)
  if (!permitsRoute(request.policy, route.service_id, route.currency)) throw new PublicError(3008)
  if (route.direction !== request.direction) throw new PublicError(1008)
  if (!route.enabled || !areAccountsConfigured(deps, route)) throw new PublicError(1002)
  if (!isAmountPermitted(route, amount)) throw fieldError(6001, AMOUNT_FIELD)
  if (request.currency !== route.currency) throw fieldError(6002, 'params.payment.amount.currency')
  if (beneficiary) checkBankAccount(route.currency, beneficiary)
  return route
}

/** Whether a route has provider accounts, and this process knows them all. */
export function areAccountsConfigured(
  { hasAccount }: Pick<PermittedRouteDeps, 'hasAccount'>,
  route: PaymentRoute,
): boolean {
  const { provider_accounts } = route
  return provider_accounts.length > 0 && provider_accounts.every((account) => hasAccount(account, route))
}

/** Whether a payment may have this amount (E6), whatever its route. */
export function isAmountPossible(amount: bigint): boolean {
  return amount >= 1n && amount <= AMOUNT_MAX
}

/** Whether a payment on this route may have this amount (E6, P14). */
export function isAmountPermitted({ minimum_amount }: PaymentRoute, amount: bigint): boolean {
  return isAmountPossible(amount) && amount >= minimum_amount
}
