import type { CheckHoldResponse } from '#gen/multihub/balances/v1/ledger_service_pb.ts'
import { environmentToProto } from '#lib/contract/environment.ts'
import type { ErrorCode } from '#lib/contract/errors/error-table.ts'
import type { AccountSelection } from '../connectors/account-selection.ts'
import type { ConnectedAccount } from '../connectors/connect-account.ts'
import type { FindAccount } from '../connectors/find-account.ts'
import type { PaymentRoute } from '../domain/payment.ts'
import {
  holdLimitsToProto,
  LEDGER_CALL,
  type LedgerClient,
  refusedCodeOf,
} from '../effects/post-to-ledger.ts'
import {
  areAccountsConfigured,
  isAmountPermitted,
  isAmountPossible,
  type PermittedRouteDeps,
} from './permitted-route.ts'

/** A payment that a merchant could make. `amount` is in minor units of the route's currency. */
export interface RouteQuestion {
  readonly merchant_id: string
  readonly service_id: string
  readonly amount: bigint
}

/** Which rules refuse the payment, and what that follows from. */
export interface RouteExplanation {
  /** The codes of all rules that refuse the payment, in the order of E9: the merchant gets the first. */
  readonly refused_codes: readonly ErrorCode[]
  /** Absent when the merchant has no such route. */
  readonly route?: PaymentRoute | undefined
  /** The accounts of the route in its order; without `connected` when this process has no such account for it. */
  readonly accounts: readonly {
    readonly account_id: string
    readonly connected: ConnectedAccount | undefined
  }[]
  /** Absent for deposits, and for an amount that no payment can have. */
  readonly funds?: CheckHoldResponse
}

/** What explaining a route needs. */
export interface ExplainRouteDeps extends PermittedRouteDeps, Pick<AccountSelection, 'areAllDown'> {
  readonly findAccount: FindAccount
  readonly ledger: Pick<LedgerClient, 'checkHold'>
}

/**
 * Says whether a payment would be accepted now. It asks what `createPayment` asks, in the same functions and in the same
 * decision of the ledger, and changes nothing: no hold is placed, and no probe of a circuit breaker is used up.
 */
export async function explainRoute(
  deps: ExplainRouteDeps,
  question: RouteQuestion,
): Promise<RouteExplanation> {
  const { merchant_id, service_id, amount } = question
  const route = await deps.findRoute(service_id)
  if (route?.merchant_id !== merchant_id) return { refused_codes: [1004], accounts: [] }
  const is_withdrawal = route.direction === 'out'
  const funds = is_withdrawal && isAmountPossible(amount) && (await checkHold(deps.ledger, route, amount))
  const refused_codes = [
    ...refusalsByRoute(deps, route, amount),
    ...(funds ? funds.refusedCodes.map(refusedCodeOf) : []),
  ]
  return { refused_codes, route, accounts: accountsOf(deps, route), ...(funds && { funds }) }
}

function refusalsByRoute(deps: ExplainRouteDeps, route: PaymentRoute, amount: bigint): ErrorCode[] {
  const has_accounts = areAccountsConfigured(deps, route)
  const codes: ErrorCode[] = []
  if (!route.enabled || !has_accounts) codes.push(1002)
  if (!isAmountPermitted(route, amount)) codes.push(6001)
  if (has_accounts && deps.areAllDown(route.provider_accounts, route.environment)) codes.push(7002)
  return codes
}

function checkHold(
  ledger: ExplainRouteDeps['ledger'],
  route: PaymentRoute,
  minor: bigint,
): Promise<CheckHoldResponse> {
  const { merchant_id: merchantId, environment, currency } = route
  const amount = { minor, currency }
  const limits = holdLimitsToProto(route)
  return ledger.checkHold(
    { merchantId, environment: environmentToProto(environment), amount, limits },
    LEDGER_CALL,
  )
}

function accountsOf({ hasAccount, findAccount }: ExplainRouteDeps, route: PaymentRoute) {
  return route.provider_accounts.map((account_id) => {
    const is_configured = hasAccount(account_id, route)
    return { account_id, connected: is_configured ? findAccount(account_id, route.environment) : undefined }
  })
}
