import type { EffectRunner } from '#lib/patterns/effects/runner.ts'
import type { Collection } from '#lib/platform/store/store.ts'
import { now } from '#lib/platform/time.ts'
import type { FindAccount } from '../connectors/connect-account.ts'
import type { ProviderCallback, ProviderReport } from '../connectors/connector.ts'
import { applyProviderUpdate } from '../domain/apply-provider-update.ts'
import {
  isAdmitted,
  operationKindOf,
  type Payment,
  requireAdmitted,
  type StoredPayment,
} from '../domain/payment.ts'
import { findByHId, keyOfPayment } from '../store/payments.ts'

/** What receiving a provider's callback needs. */
export interface ReceiveProviderCallbackDeps {
  readonly payments: Collection<StoredPayment>
  readonly runner: EffectRunner<StoredPayment>
  readonly findAccount: FindAccount
}

/** The HTTP status of the response. Any 2xx acknowledges a callback, and 200 is the one sent here. */
export type CallbackHttpStatus = 200 | 401 | 404

const PATH = /^\/callbacks\/([a-z0-9][a-z0-9_-]{0,63})\/([0-9]{1,20})\/(test|production)\/([0-9a-f-]{1,40})$/

/**
 * The path for callbacks about a payment. It contains merchant and environment, the first fields of the index on
 * `h_id`, so that the payment is found without a search over all merchants.
 */
export function providerCallbackPath(
  account_id: string,
  { merchant_id, environment, h_id }: Payment,
): string {
  return `/callbacks/${account_id}/${merchant_id}/${environment}/${h_id}`
}

/**
 * Applies a provider's report about a payment. An unsigned, wrongly signed or malformed report changes nothing and gets
 * 401. Throws when the store is unavailable, so that the provider repeats the callback.
 */
export async function receiveProviderCallback(
  deps: ReceiveProviderCallbackDeps,
  callback: ProviderCallback,
): Promise<CallbackHttpStatus> {
  const [, account_id = '', merchant_id = '', environment = '', h_id = ''] = PATH.exec(callback.path) ?? []
  const connected = deps.findAccount(account_id, environment)
  if (!connected) return 404
  const report = connected.connector.parseCallback(callback)
  if (!report) return 401
  const payment = await findByHId(deps.payments, merchant_id, environment, h_id)
  // No provider has been called for a withdrawal that is not admitted.
  if (!payment || !isAdmitted(payment)) return 404
  const attempt_number = attemptNumber(payment, account_id, report)
  if (attempt_number === undefined) return 404
  const at = now()
  const poll_at = new Date(at.getTime() + connected.schedule.first_ms)
  const update = { attempt_number, result: report.result, at, poll_at }
  const apply = (current: StoredPayment): Payment | undefined => {
    const updated = applyProviderUpdate(requireAdmitted(current), update)
    return updated === current ? undefined : updated
  }
  const stored = await deps.runner.update(keyOfPayment(payment), apply, payment)
  // The status is durable now. The provider does not wait for the ledger and the event.
  if (stored) deps.runner.runEffectsInBackground(stored)
  return 200
}

/**
 * The number of the attempt that a report is about, from its idempotency key. `undefined` when that attempt was not sent
 * to this account: a provider may report only about its own attempts.
 */
function attemptNumber(
  payment: Payment,
  account_id: string,
  { idempotency_key, kind }: ProviderReport,
): number | undefined {
  const { payment_id, provider_accounts } = payment
  const prefix = `${payment_id}:`
  if (kind !== operationKindOf(payment) || !idempotency_key.startsWith(prefix)) return undefined
  const digits = idempotency_key.slice(prefix.length)
  if (!/^[1-9][0-9]{0,3}$/.test(digits)) return undefined
  return provider_accounts[Number(digits) - 1] === account_id ? Number(digits) : undefined
}
