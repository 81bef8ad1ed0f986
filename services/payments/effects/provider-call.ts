import { now } from '#lib/base/time.ts'
import { type Budget, createKeyedBudget } from '#lib/patterns/effects/budget.ts'
import type { DocumentChange } from '#lib/patterns/effects/define-effect.ts'
import type { ConnectedAccount, FindAccount } from '../connectors/connect-account.ts'
import type { OperationName, PersonDetails, ProviderOrder } from '../connectors/connector.ts'
import { DEFAULT_POLL_SCHEDULE, type PollSchedule } from '../connectors/poll-schedule.ts'
import { applyNotFoundUpdate, applyProviderUpdate } from '../domain/apply-provider-update.ts'
import type { CallResult, LookupResult } from '../domain/call-result.ts'
import { type Attempt, attemptKey, operationKindOf, type Payer, type Payment } from '../domain/payment.ts'

/** The part of a payment that decides its provider account. */
type PaymentAccount = Pick<Payment, 'attempt' | 'environment'>

/** What the effects that call a provider need. */
export interface ProviderCallDeps {
  /** The account of the payment's attempt. Throws when it is no longer configured for the payment's environment. */
  accountOf(payment: Payment): ConnectedAccount
  /** When the payment's attempt is polled; a default when its account is no longer configured. */
  scheduleOf(payment: PaymentAccount): PollSchedule
  /** Whether the provider of the payment's attempt sends callbacks; true when its account is no longer configured. */
  sendsCallbacks(payment: PaymentAccount): boolean
  /** The URL to which the provider sends its callbacks about the payment. */
  providerCallbackUrl(payment: Payment): string
  /** How long a create may take before the merchant is answered without the provider's result (P5). */
  readonly create_timeout_ms: number
  /** Aborted when the process stops. Provider calls then end at once. */
  readonly stopping: AbortSignal
}

/** Finds the account of a payment's attempt, and what the effects need to know of it, among all accounts. */
export function findAccountOfPayment(
  findAccount: FindAccount,
): Pick<ProviderCallDeps, 'accountOf' | 'scheduleOf' | 'sendsCallbacks'> {
  const find = ({ attempt, environment }: PaymentAccount): ConnectedAccount | undefined =>
    findAccount(attempt.account_id, environment)
  return {
    accountOf(payment) {
      const account = find(payment)
      if (!account)
        throw new Error(`the provider account ${payment.attempt.account_id} is no longer configured`)
      return account
    },
    scheduleOf: (payment) => find(payment)?.schedule ?? DEFAULT_POLL_SCHEDULE,
    sendsCallbacks: (payment) => find(payment)?.connector.sends_callbacks ?? true,
  }
}

/** A budget of `max_per_account` calls at once for each provider account: one that hangs delays its own payments only. */
export function accountBudget(max_per_account: number): Budget<Payment> {
  return createKeyedBudget(max_per_account, ({ attempt }) => attempt.account_id)
}

/** How long a provider may take to respond to a lookup. */
export const LOOKUP_TIMEOUT_MS = 10_000

/** Added to the longest call for the lease, because storing the outcome takes time too. */
export const LEASE_SLACK_MS = 5_000

/** Failures of the provider are results. Only crashes, and accounts that are no longer configured, use up the tries. */
export const CALL_TRIES_MAX = 20

/**
 * Sends the create of the payment's attempt. `earlier_result_unknown` tells the connector that the same key may have been
 * sent before, with an unknown result.
 */
export function sendCreate(
  deps: ProviderCallDeps,
  { connector }: ConnectedAccount,
  payment: Payment,
  {
    timeout_ms,
    earlier_result_unknown,
  }: { readonly timeout_ms: number; readonly earlier_result_unknown: boolean },
): Promise<CallResult> {
  return connector.create(orderOf(deps, payment, earlier_result_unknown), timeout_ms, deps.stopping)
}

/** Asks the provider for the status of the payment's attempt. */
export function lookUpAttempt(
  { stopping }: ProviderCallDeps,
  { connector }: ConnectedAccount,
  payment: Payment,
): Promise<LookupResult> {
  const operation: OperationName = { kind: operationKindOf(payment), idempotency_key: attemptKey(payment) }
  return connector.lookUp(operation, LOOKUP_TIMEOUT_MS, stopping)
}

/**
 * The change that applies a result to the payment. If nothing polls the provider yet, the first poll is after `poll_ms`. A
 * create that was not sent goes to the next account after `next_attempt_ms`.
 */
export function applyResult(
  { attempt }: { readonly attempt: Pick<Attempt, 'number'> },
  result: CallResult,
  poll_ms: number,
  next_attempt_ms = 0,
): DocumentChange<Payment> {
  const at = now()
  const poll_at = new Date(at.getTime() + poll_ms)
  const next_attempt_at = new Date(at.getTime() + next_attempt_ms)
  const update = { attempt_number: attempt.number, result, at, poll_at, next_attempt_at }
  return (current) => applyProviderUpdate(current, update)
}

/** The change after a lookup that did not find the attempt. `may_repeat` says whether its create may be sent again. */
export function applyNotFound({ attempt }: Payment, may_repeat: boolean): DocumentChange<Payment> {
  const at = now()
  return (current) => applyNotFoundUpdate(current, { attempt_number: attempt.number, may_repeat, at })
}

function orderOf(deps: ProviderCallDeps, payment: Payment, earlier_result_unknown: boolean): ProviderOrder {
  const order = {
    idempotency_key: attemptKey(payment),
    amount: { minor: payment.amount, currency: payment.currency },
    method: payment.method,
    callback_url: deps.providerCallbackUrl(payment),
    earlier_result_unknown,
  }
  const { direction, payer, beneficiary, expires_at } = payment
  if (direction === 'in') {
    if (expires_at === undefined) throw new Error('a deposit has no expiry time')
    const customer_account_id = payer?.customer_account?.id
    const account = customer_account_id === undefined ? {} : { customer_account_id }
    return { ...order, kind: 'deposit', expires_at, payer: { ...personDetails(payer), ...account } }
  }
  if (beneficiary === undefined) throw new Error('a withdrawal has no beneficiary')
  const { email, phone, person, ...account } = beneficiary
  return { ...order, kind: 'withdrawal', beneficiary: { ...account, ...personDetails(beneficiary) } }
}

function personDetails({
  email,
  phone,
  person,
}: Pick<Payer, 'email' | 'phone' | 'person'> = {}): PersonDetails {
  return {
    ...(email === undefined ? {} : { email }),
    ...(phone === undefined ? {} : { phone }),
    ...person,
  }
}
