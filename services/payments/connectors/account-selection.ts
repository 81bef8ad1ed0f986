import type { Environment } from '#lib/contract/environment.ts'
import { operationKindOf, type PaymentRoute } from '../domain/payment.ts'
import type { Admission } from './circuit-breaker.ts'
import type { FindAccount } from './connect-account.ts'

/** The accounts that a new payment may try. */
export interface AdmittedAccounts {
  /** In the order of the route. */
  readonly account_ids: readonly string[]
  /** To call when the payment is not created: a payment that never reaches an account is not its probe. */
  giveBack(): void
}

/** What an account must fit to be used by a route. */
type RouteOfAccount = Pick<PaymentRoute, 'environment' | 'connector' | 'direction' | 'method'>

/** Chooses the provider accounts of new payments. */
export interface AccountSelection {
  /** Whether the account is configured for a route, and performs payments of its direction and method. */
  hasAccount(account_id: string, route: RouteOfAccount): boolean
  /**
   * The accounts that a new payment may try, in the order of its route: from the first one whose breaker admits the payment
   * on, without those whose breaker is open. Empty when there is none: the payment is refused with 7002 (E9). Call it once
   * per payment, because it may make the payment the probe of a half-open breaker, and `giveBack` when the payment is
   * refused.
   */
  admitAccounts(account_ids: readonly string[], environment: Environment): AdmittedAccounts
  /**
   * Whether `admitAccounts` would admit none now. It changes nothing, unlike `admitAccounts`: for questions about a route.
   */
  areAllDown(account_ids: readonly string[], environment: Environment): boolean
}

/** Makes the selection from all accounts. */
export function createAccountSelection(findAccount: FindAccount): AccountSelection {
  return {
    hasAccount(account_id, route) {
      const found = findAccount(account_id, route.environment)
      return (
        found?.account.connector === route.connector &&
        found.connector.operations.includes(operationKindOf(route)) &&
        found.connector.methods.includes(route.method)
      )
    },
    admitAccounts(account_ids, environment) {
      const admitted: string[] = []
      let first: Admission | undefined
      for (const account_id of account_ids) {
        const breaker = findAccount(account_id, environment)?.breaker
        if (breaker === undefined) continue
        // A later account is used only after a failure, and then a half-open one is better than none.
        if (first === undefined) first = breaker.admit()
        else if (breaker.status().state === 'open') continue
        if (first) admitted.push(account_id)
      }
      return { account_ids: admitted, giveBack: () => first?.giveBack() }
    },
    areAllDown: (account_ids, environment) =>
      !account_ids.some((account_id) => findAccount(account_id, environment)?.breaker.canAdmit()),
  }
}
