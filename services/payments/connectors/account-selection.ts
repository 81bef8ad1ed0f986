import type { Environment } from '#lib/contract/environment.ts'
import { operationKindOf, type PaymentRoute } from '../domain/payment.ts'
import type { Pass } from './circuit-breaker.ts'
import type { FindAccount } from './find-account.ts'

/** The provider accounts that a new payment may try, in the order of its route. */
interface ChosenAccounts {
  readonly account_ids: readonly string[]
  /** To call when the payment is not created: a payment that never reaches an account is not its probe. */
  giveBack(): void
}

/** Chooses the provider accounts of new payments. */
export type AccountSelection = ReturnType<typeof createAccountSelection>

/** Makes the selection from all accounts. `takesPayments` says whether the operator lets new payments use an account (P20). */
export function createAccountSelection(
  findAccount: FindAccount,
  takesPayments: (account_id: string) => boolean,
) {
  const permitted = (account_ids: readonly string[]): readonly string[] => account_ids.filter(takesPayments)
  return {
    /** Whether the account is configured for a route, and performs payments of its direction and method. */
    hasAccount(
      account_id: string,
      route: Pick<PaymentRoute, 'environment' | 'connector' | 'direction' | 'method'>,
    ): boolean {
      const found = findAccount(account_id, route.environment)
      return (
        found?.account.connector === route.connector &&
        found.connector.operations.includes(operationKindOf(route)) &&
        found.connector.methods.includes(route.method)
      )
    },
    /**
     * The accounts that a new payment may try: from the first one whose breaker lets it pass, without those whose breaker is
     * open, or that are draining or disabled. Empty when there is none: the payment is refused with 7002 (E9). Call it once per
     * payment, because it may make the payment the probe of a half-open breaker, and `giveBack` when the payment is refused.
     */
    chooseAccounts(account_ids: readonly string[], environment: Environment): ChosenAccounts {
      const chosen: string[] = []
      let first: Pass | undefined
      for (const account_id of permitted(account_ids)) {
        const breaker = findAccount(account_id, environment)?.breaker
        if (breaker === undefined) continue
        // A later account is used only after a failure, and then a half-open one is better than none.
        if (first === undefined) first = breaker.takePass()
        else if (breaker.status().state === 'open') continue
        if (first) chosen.push(account_id)
      }
      return { account_ids: chosen, giveBack: () => first?.giveBack() }
    },
    /** Whether `chooseAccounts` would choose none now. It changes nothing: for questions about a route. */
    areAllDown: (account_ids: readonly string[], environment: Environment): boolean =>
      !permitted(account_ids).some((account_id) => findAccount(account_id, environment)?.breaker.hasPass()),
  }
}
