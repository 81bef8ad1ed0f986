import type { Environment } from '#lib/contract/environment.ts'
import { fieldError } from '#lib/contract/errors/public-error.ts'
import type { MerchantScope } from '#lib/contract/merchant-scope.ts'
import type { RouteCurrency } from '#lib/contract/money.ts'
import { checkLine } from '#lib/contract/operator-fields.ts'
import { currenciesOf, type Direction, PAYMENT_METHODS } from '#lib/contract/payment-methods.ts'
import { requiredText } from '#lib/contract/proto-fields.ts'
import { isAccountId } from '#lib/contract/provider-account-id.ts'
import {
  checkCount,
  checkQuantity,
  integerFrom,
  type RegistryDocument,
  type StoredSettings,
} from './settings.ts'

/** The form of the public payment ids of a route (P1). */
type HIdFormat = 'uuid' | 'numeric'

/** Limits of withdrawals, in minor units; 0 means no limit (P14). */
export interface PayoutLimits {
  readonly minimum: bigint
  readonly maximum: bigint
  readonly daily: bigint
  readonly monthly: bigint
  readonly since_settlement: bigint
}

/** The fields that never change, because existing payments depend on them. */
interface RouteIdentity {
  readonly direction: Direction
  readonly method: string
  readonly currency: RouteCurrency
  readonly connector: string
  readonly h_id_format: HIdFormat
}

/** What never changes, in a request: its currency is not checked yet. */
export interface NewRouteIdentity extends Omit<RouteIdentity, 'currency'> {
  readonly currency: string
}

/** How payments of one `service_id` are made, as it is stored. Its merchant, environment and identity never change. */
export interface Route
  extends RouteIdentity,
    StoredSettings<typeof ROUTE_SETTINGS>,
    MerchantScope,
    RegistryDocument {
  readonly service_id: number
}

/** The payout limits of a route without limits. */
const NO_LIMITS: PayoutLimits = { minimum: 0n, maximum: 0n, daily: 0n, monthly: 0n, since_settlement: 0n }

/** The maximum of `expires_in_seconds`: 30 days. */
const EXPIRES_MAX_SECONDS = 30 * 86_400
const PURPOSE_MAX = 128
const ACCOUNTS_MAX = 10
const SANDBOX = 'sandbox'
const CONNECTOR = /^[a-z][a-z0-9_-]{0,31}$/

/** The settings of a route. The payout limits depend on its direction. */
export const ROUTE_SETTINGS = {
  enabled: { fallback: true, check: (enabled: boolean) => enabled },
  /** The accounts at the provider, in the order in which they are tried. */
  provider_accounts: { check: checkAccounts },
  /** How long a deposit waits for its customer (P8). */
  expires_in_seconds: { fallback: 1_800, check: integerFrom(1, EXPIRES_MAX_SECONDS) },
  payout_limits: { fallback: NO_LIMITS, check: checkLimits },
  /** The smallest amount of a payment, in minor units. */
  minimum_amount: { fallback: 0n, check: checkQuantity },
  /** The operator's note. */
  purpose: { fallback: '', check: (text: string, path: string) => checkLine(text, path, PURPOSE_MAX) },
}

/** Accepts what never changes of a new route of an environment. */
export function checkRouteIdentity(
  environment: Environment,
  { direction, method, currency, connector, h_id_format }: NewRouteIdentity,
): RouteIdentity {
  return {
    direction,
    method,
    currency: checkMethod(direction, method, currency),
    connector: checkConnector(environment, connector),
    h_id_format,
  }
}

/** Accepts a currency that the payment method has in this direction (P13). */
function checkMethod(direction: Direction, method: string, currency: string): RouteCurrency {
  requiredText(method, 'method')
  requiredText(currency, 'currency')
  const currencies = currenciesOf(direction, method)
  const methods = Object.keys(PAYMENT_METHODS[direction]).join(', ')
  if (currencies.length === 0) throw fieldError(9000, 'method', `one of ${methods} for this direction`)
  const match = currencies.find((known) => known === currency)
  if (match === undefined)
    throw fieldError(9000, 'currency', `one of ${currencies.join(', ')} for this method`)
  return match
}

/**
 * Accepts the name of a connector. A test route uses the sandbox only and a production route never does. So a payment
 * cannot reach a provider of the other environment (spec: What the service does, 7).
 */
function checkConnector(environment: Environment, connector: string): string {
  requiredText(connector, 'connector')
  if (!CONNECTOR.test(connector)) throw fieldError(9000, 'connector', 'the name of a connector in lower case')
  if (environment === 'test' && connector !== SANDBOX)
    throw fieldError(9000, 'connector', `${SANDBOX} in test`)
  if (environment === 'production' && connector === SANDBOX) {
    throw fieldError(9000, 'connector', `not ${SANDBOX} in production`)
  }
  return connector
}

/** Accepts 1 to 10 different provider accounts, in the order in which they are tried. */
function checkAccounts(accounts: readonly string[], path: string): readonly string[] {
  if (accounts.length === 0) throw fieldError(1005, path)
  checkCount(accounts, path, ACCOUNTS_MAX)
  for (const [place, account] of accounts.entries()) {
    if (!isAccountId(account)) throw fieldError(9000, `${path}.${place}`, 'the name of a provider account')
    if (accounts.indexOf(account) !== place) throw fieldError(9000, `${path}.${place}`, 'each account once')
  }
  return accounts
}

/** Accepts payout limits: none negative, the maximum not below the minimum, and none on a deposit route. */
function checkLimits(limits: PayoutLimits, path: string, direction: Direction): PayoutLimits {
  for (const [name, value] of Object.entries(limits)) {
    checkQuantity(value, `${path}.${name}`)
    if (direction === 'in' && value > 0n)
      throw fieldError(9000, `${path}.${name}`, '0 on a deposit route: only withdrawals have payout limits')
  }
  if (limits.maximum > 0n && limits.maximum < limits.minimum)
    throw fieldError(9000, `${path}.maximum`, 'not below the minimum')
  return limits
}
