import type { CheckHoldResponse } from '#gen/multihub/balances/v1/ledger_service_pb.ts'
import type { ErrorCode } from '#lib/contract/errors/error-table.ts'
import { scopeToProto } from '#lib/contract/merchant-scope.ts'
import type { AccountStates } from '../account-states.ts'
import type { AccountSelection } from '../connectors/account-selection.ts'
import type { ConnectedAccount } from '../connectors/connect-account.ts'
import type { FindAccount } from '../connectors/find-account.ts'
import type { AccountSwitch } from '../domain/account-state.ts'
import type { PaymentRoute } from '../domain/payment.ts'
import {
  holdLimitsToProto,
  LEDGER_CALL,
  type LedgerClient,
  refusedCodeOf,
} from '../effects/post-to-ledger.ts'
import { type BalanceRoomDeps, hasBalanceRoom } from './balance-room.ts'
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
    /** What the operator lets it do; absent when it was never switched. */
    readonly switched: AccountSwitch | undefined
  }[]
  /** Absent for deposits, and for an amount that no payment can have. */
  readonly funds?: CheckHoldResponse | undefined
}

/** What explaining a route needs. */
export interface ExplainRouteDeps
  extends PermittedRouteDeps,
    BalanceRoomDeps,
    Pick<AccountSelection, 'areAllDown'> {
  readonly findAccount: FindAccount
  readonly account_states: Pick<AccountStates, 'switchOf'>
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
  const limits = holdLimitsToProto(route)
  const hold = { ...scopeToProto(route), amount: { minor: amount, currency: route.currency }, limits }
  const is_checked = route.direction === 'out' && isAmountPossible(amount)
  const funds = is_checked ? await deps.ledger.checkHold(hold, LEDGER_CALL) : undefined
  const refused_by_ledger = funds?.refusedCodes.map(refusedCodeOf) ?? []
  const accounts = route.provider_accounts.map((account_id) => ({
    account_id,
    connected: deps.hasAccount(account_id, route)
      ? deps.findAccount(account_id, route.environment)
      : undefined,
    switched: deps.account_states.switchOf(account_id),
  }))
  const refused_codes = [...(await refusalsByRoute(deps, route, amount)), ...refused_by_ledger]
  return { refused_codes, route, accounts, funds }
}

async function refusalsByRoute(
  deps: ExplainRouteDeps,
  route: PaymentRoute,
  amount: bigint,
): Promise<ErrorCode[]> {
  const has_accounts = areAccountsConfigured(deps, route)
  const codes: ErrorCode[] = []
  if (!route.enabled || !has_accounts) codes.push(1002)
  const is_permitted = isAmountPermitted(route, amount) && (await hasBalanceRoom(deps, route, amount))
  if (!is_permitted) codes.push(6001)
  if (has_accounts && deps.areAllDown(route.provider_accounts, route.environment)) codes.push(7002)
  return codes
}
