import { fromBinary } from '@bufbuild/protobuf'
import {
  type Customer,
  type MerchantDetails,
  MerchantDetailsSchema,
} from '#gen/multihub/payments/v1/payment_pb.ts'
import { clock, elapsedSince, now } from '#lib/base/time.ts'
import { type Budget, createKeyedBudget } from '#lib/patterns/effects/budget.ts'
import type { DocumentChange } from '#lib/patterns/effects/define-effect.ts'
import type { Effect } from '#lib/patterns/effects/effect.ts'
import type { Runs } from '#lib/patterns/effects/runs.ts'
import { failureTraceparent } from '#lib/telemetry/failure-trace.ts'
import type { AccountStates } from '../account-states.ts'
import type { Connector, PersonDetails, ProviderOrder } from '../connectors/connector.ts'
import type { AccountsOfPayments } from '../connectors/find-account.ts'
import { applyProviderUpdate } from '../domain/apply-provider-update.ts'
import type { CallResult, LookupResult } from '../domain/call-result.ts'
import { type Operation, type OperationRef, operationKey, refOf } from '../domain/operation.ts'
import { asPaid, type Payment } from '../domain/payment.ts'
import { isAbout } from '../domain/payment-effects.ts'
import type { CreateCall } from '../domain/provider-history.ts'

/** What the effects that call a provider need. */
export interface ProviderCallDeps extends AccountsOfPayments {
  /** The URL to which the provider sends its callbacks about the payment. */
  providerCallbackUrl(payment: Payment): string
  /** Whether the operation was sent to something else than its account is now, so that nothing may be sent (P4). */
  isMoved(operation: Operation): Promise<boolean>
  /** What the operator lets the accounts do (P20). */
  readonly account_states: Pick<AccountStates, 'takesPayments' | 'isDisabled' | 'recentStateOf'>
  /** How long a create may take before the merchant is answered without the provider's result (P5). */
  readonly create_timeout_ms: number
  /** Aborted when the process stops. Provider calls then end at once. */
  readonly stopping: AbortSignal
  /** Whether this process may call a provider, under a lease if one is given: its run is not dead (`Runs`). */
  readonly mayAct: Runs['mayAct']
}

/**
 * The budgets of an effect of operations: so many calls at once for each provider account, and as many again, or
 * `refunds_max`, for refunds. An account that hangs delays its own payments only. A refund goes to the account that its
 * deposit was paid at.
 */
export function operationBudgets(max: number, refunds_max = max): (effect: Effect) => Budget<Payment> {
  const payments = createKeyedBudget<Payment>(max, ({ attempt }) => attempt.account_id)
  const refunds = createKeyedBudget<Payment>(refunds_max, (payment) => asPaid(payment).attempt.account_id)
  return (effect) => (isAbout(effect, undefined) ? payments : refunds)
}

/** How long a provider may take to respond to a lookup. */
export const LOOKUP_TIMEOUT_MS = 10_000

/** Added to the longest call for the lease, because storing the outcome takes time too. */
export const LEASE_SLACK_MS = 5_000

/** Failures of the provider are results. Only crashes, and accounts that are no longer configured, use up the tries. */
export const CALL_TRIES_MAX = 20

/** Asks the provider for the status of an operation. */
export async function lookUp(
  { stopping, mayAct }: ProviderCallDeps,
  connector: Connector,
  { kind, idempotency_key }: Operation,
): Promise<LookupResult> {
  if (!mayAct())
    return { kind: 'unknown', reason: 'this process has no confirmed heartbeat or no trusted clock' }
  return await connector.lookUp({ kind, idempotency_key }, LOOKUP_TIMEOUT_MS, stopping)
}

/** The change that applies a report to an operation. If nothing polls the provider yet, the first poll is after `poll_ms`. */
export function applyResult(
  ref: OperationRef,
  result: CallResult,
  poll_ms: number,
  is_callback = false,
): DocumentChange<Payment> {
  const at = now()
  const poll_at = new Date(at.getTime() + poll_ms)
  return traced(result, (current) =>
    applyProviderUpdate(current, { ...ref, result, at, poll_at, is_callback }),
  )
}

/** The results after which a payment is traced, also when its request was not sampled. */
const TRACED: ReadonlySet<string> = new Set(['declined', 'canceled', 'not_sent', 'unknown'])

/** The change, and from a failure on the trace to which all further work on the payment belongs. */
function traced(result: CallResult, change: DocumentChange<Payment>): DocumentChange<Payment> {
  if (!TRACED.has(result.kind)) return change
  return (current) => {
    const changed = change(current)
    if (changed === current || changed.traceparent !== undefined) return changed
    const traceparent = failureTraceparent(changed.payment_id)
    return traceparent === undefined ? changed : { ...changed, traceparent }
  }
}

/** The response to a create, and the facts of the call. */
interface SentCreate {
  readonly result: CallResult
  readonly call: CreateCall
}

/** Sends the create of an operation. `is_repeated`: its key may have been sent before, with an unknown result. */
export async function sendCreate(
  deps: ProviderCallDeps,
  operation: Operation,
  { is_repeated, timeout_ms }: { readonly is_repeated: boolean; readonly timeout_ms: number },
): Promise<SentCreate> {
  const { connector } = deps.accountOf(operation.payment)
  const began_at = now()
  const began_ms = clock.monotonic_ms()
  const order = orderOf(deps, operation, is_repeated)
  const { http_status, ...result } = await connector.create(order, timeout_ms, deps.stopping)
  return { result, call: { began_at, duration_ms: Math.round(elapsedSince(began_ms)), http_status } }
}

/**
 * The change that applies the response to a create. One that was not sent goes to the next account after `next_attempt_ms`.
 */
export function applyCreateResponse(
  deps: Pick<ProviderCallDeps, 'fingerprintOf' | 'account_states'>,
  operation: Operation,
  { result, call }: SentCreate,
  { poll_ms, next_attempt_ms = 0 }: { readonly poll_ms: number; readonly next_attempt_ms?: number },
): DocumentChange<Payment> {
  const at = now()
  const { environment } = operation.payment
  const create = {
    next_attempt_at: new Date(at.getTime() + next_attempt_ms),
    fingerprintOf: (account_id: string) => deps.fingerprintOf(account_id, environment),
    takesPayments: deps.account_states.takesPayments,
  }
  const poll_at = new Date(at.getTime() + poll_ms)
  const update = { ...refOf(operation), result, call, at, poll_at, create }
  return traced(result, (current) => applyProviderUpdate(current, update))
}

/** Covers the differences between the clocks of processes and provider, and pauses of a process. */
const WINDOW_MARGIN_MS = 60_000

/**
 * Whether a repetition of the create arrives within the connector's idempotency window even if it takes all of its time, and
 * no account has reported it, neither this one nor another one as paid or pending, and none may have it since a restore,
 * nor may the ledger have refused it since its backup (P19). The window counts from `began_at`.
 */
export function mayRepeat(
  { record, may_be_elsewhere, began_at, restored }: Operation,
  { idempotency_window_ms }: Connector,
  timeout_ms: number,
): boolean {
  const age_ms = now().getTime() - began_at.getTime()
  if (record.provider_id !== undefined || may_be_elsewhere) return false
  if (restored === 'asking_accounts' || record.is_hold_unknown === true) return false
  return age_ms + timeout_ms + WINDOW_MARGIN_MS < idempotency_window_ms
}

/** The order for the create of an operation. */
function orderOf(
  deps: ProviderCallDeps,
  { kind, idempotency_key, amount, payment }: Operation,
  is_repeated: boolean,
): ProviderOrder {
  const { method, beneficiary, expires_at } = payment
  const callback_url = deps.providerCallbackUrl(payment)
  const order = { idempotency_key, amount, method, callback_url, earlier_result_unknown: is_repeated }
  switch (kind) {
    case 'deposit': {
      if (expires_at === undefined) throw new Error('a deposit has no expiry time')
      const { payer } = merchantDetails(payment)
      const customer_account_id = payer?.customerAccount?.id
      return { ...order, kind, expires_at, payer: { ...personDetails(payer), customer_account_id } }
    }
    case 'withdrawal': {
      if (beneficiary === undefined) throw new Error('a withdrawal has no beneficiary')
      const { receiver } = merchantDetails(payment)
      return { ...order, kind, beneficiary: { ...beneficiary, ...personDetails(receiver) } }
    }
    case 'refund':
      return { ...order, kind, deposit_idempotency_key: operationKey(payment) }
  }
}

function merchantDetails({ details = new Uint8Array() }: Payment): MerchantDetails {
  return fromBinary(MerchantDetailsSchema, details)
}

function personDetails({ email, phone, person }: Partial<Customer> = {}): PersonDetails {
  return { email, phone, first_name: person?.firstName, last_name: person?.lastName }
}
