import { sha256Hex } from '#lib/base/crypto/hash.ts'
import { createRate } from '#lib/base/limit.ts'
import { now } from '#lib/base/time.ts'
import type { Environment } from '#lib/contract/environment.ts'
import { amountText } from '#lib/contract/shown-values.ts'
import type { ClockGuard } from '#lib/patterns/clock-guard.ts'
import { createKeyedBudget } from '#lib/patterns/effects/budget.ts'
import type { EffectRunner } from '#lib/patterns/effects/runner.ts'
import type { Collection } from '#lib/store/store.ts'
import { log, unlimited_log } from '#lib/telemetry/log.ts'
import { counter } from '#lib/telemetry/metrics.ts'
import { inSpan } from '#lib/telemetry/span.ts'
import type { ConnectedAccount } from '../connectors/connect-account.ts'
import type { ProviderCallback, ProviderReport } from '../connectors/connector.ts'
import type { FindAccount } from '../connectors/find-account.ts'
import type { Anomaly } from '../domain/anomaly.ts'
import { findOperation, type OperationRef, refOfKey } from '../domain/operation.ts'
import { asPaid, isAdmitted, type Payment, requireAdmitted, type StoredPayment } from '../domain/payment.ts'
import { requireRefund } from '../domain/refund.ts'
import { applyResult } from '../effects/provider-call.ts'
import { recordAnomaly } from '../store/anomalies.ts'
import { findByHId, keyOfPayment } from '../store/payments.ts'
import type { RefreshStalePayment } from '../use-cases/refresh-stale-payment.ts'

/** Makes a rate of `max` per account and interval. It remembers each account, so call it only with ids of configured ones. */
export function createPerAccountRate(max: number, interval_ms: number): (account_id: string) => boolean {
  const rates = new Map<string, ReturnType<typeof createRate>>()
  return (account_id) => {
    const rate = rates.get(account_id) ?? createRate(max, interval_ms)
    rates.set(account_id, rate)
    return rate.use()
  }
}

/** The account and the payment that the address of a callback names. The payment may not exist. */
interface Target {
  readonly connected: ConnectedAccount
  readonly merchant_id: string
  readonly environment: Environment
  readonly h_id: string
}

/**
 * Stores a verified report that fits no payment of its account as an anomaly, so that the operator learns of money that
 * moved at a provider without a payment here. A repeated report is the same anomaly. Throws when the store is unavailable.
 */
async function recordUnmatchedReport(
  anomalies: Collection<Anomaly>,
  { connected, merchant_id, environment, h_id }: Target,
  { kind, idempotency_key, result }: ProviderReport,
): Promise<void> {
  const { account_id } = connected.account
  const reportedWith = (amount: string): string =>
    `provider account ${account_id} reported ${result.kind}${amount} for the ${kind} ${idempotency_key}`
  // Ids were made from minor units before descriptions had major units, and must stay the same.
  const identity = reportedWith(result.amount ? ` of ${result.amount.minor} ${result.amount.currency}` : '')
  const anomaly_id = sha256Hex(`${merchant_id}:${environment}:${h_id}:${identity}`).slice(0, 32)
  const reported = reportedWith(
    result.amount
      ? ` of ${amountText(result.amount.minor, result.amount.currency, { is_minor: false })}`
      : '',
  )
  const { is_new } = await recordAnomaly(anomalies, {
    merchant_id,
    anomaly_id,
    environment,
    payment_id: h_id,
    account_id,
    kind: 'unmatched_report',
    description: `${reported}, which was not sent to it`,
    created_at: now(),
  })
  if (is_new)
    unlimited_log.error(
      { anomaly_id, merchant_id, provider_account: account_id, kind: 'unmatched_report' },
      'a provider reported an operation that was not sent to it; check the anomaly',
    )
}

/** What receiving a provider's callback needs. */
export interface ReceiveProviderCallbackDeps {
  readonly payments: Collection<StoredPayment>
  readonly anomalies: Collection<Anomaly>
  readonly runner: EffectRunner<StoredPayment>
  readonly findAccount: FindAccount
  readonly refreshStale: RefreshStalePayment
  readonly clock_guard: Pick<ClockGuard, 'isTrusted'>
}

/**
 * Receives a callback and returns the HTTP status of the response: any 2xx acknowledges it, and 200 is the one sent here.
 * Rejects when the store is unavailable, so that the provider repeats the callback.
 */
export type ReceiveProviderCallback = (callback: ProviderCallback) => Promise<200 | 401 | 404 | 503>

/** The callbacks of one account that are applied at once. One more gets 503, and the provider repeats it. */
const APPLIED_PER_ACCOUNT_MAX = 64
/** The unmatched reports of one account that are stored per minute. More of them are counted only. */
const UNMATCHED_MAX = 50
const UNMATCHED_INTERVAL_MS = 60_000
/** The unverified callbacks of one account that may hasten a poll: one in this time. */
const HINT_INTERVAL_MS = 1_000

const callbacks_total = counter(
  'multihub_provider_callbacks_total',
  'Callbacks of configured provider accounts, by result: applied, unverified, unmatched or busy.',
  ['provider_account', 'result'],
)

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
 * Makes the receiver of callbacks. A verified report is applied in one guarded write, which stores it: what contradicts the
 * payment becomes an anomaly in that write (P7), and what fits no payment is stored as one. An unverified report changes
 * nothing and gets 401; at most the provider is asked sooner. One account cannot use up the room of the others.
 */
export function createProviderCallbackReceiver(deps: ReceiveProviderCallbackDeps): ReceiveProviderCallback {
  const budget = createKeyedBudget(APPLIED_PER_ACCOUNT_MAX, (account_id: string) => account_id)
  const mayStoreUnmatched = createPerAccountRate(UNMATCHED_MAX, UNMATCHED_INTERVAL_MS)
  const mayHasten = createPerAccountRate(1, HINT_INTERVAL_MS)

  return async (callback) => {
    const target = targetOf(deps.findAccount, callback.path)
    if (!target) return 404
    const { account, connector } = target.connected
    const { account_id } = account
    // The times of signatures are compared with the clock of this process (R8).
    if (!deps.clock_guard.isTrusted()) {
      count(account_id, 'busy')
      return 503
    }
    const report = connector.parseCallback(callback)
    if (!report) {
      count(account_id, 'unverified')
      if (mayHasten(account_id)) hastenPoll(deps, target)
      return 401
    }
    const release = budget.reserve(account_id)
    if (!release) {
      count(account_id, 'busy')
      return 503
    }
    try {
      const is_applied = await applyReport(deps, target, report)
      if (!is_applied && mayStoreUnmatched(account_id))
        await recordUnmatchedReport(deps.anomalies, target, report)
      count(account_id, is_applied ? 'applied' : 'unmatched')
      return is_applied ? 200 : 404
    } finally {
      release()
    }
  }
}

function targetOf(findAccount: FindAccount, path: string): Target | undefined {
  const [, account_id = '', merchant_id = '', environment = '', h_id = ''] = PATH.exec(path) ?? []
  const connected = findAccount(account_id, environment)
  return connected && { connected, merchant_id, environment: connected.account.environment, h_id }
}

/** Applies a report to its payment. False when the account was never asked for the operation. */
async function applyReport(
  { payments, runner }: ReceiveProviderCallbackDeps,
  { connected, merchant_id, environment, h_id }: Target,
  report: ProviderReport,
): Promise<boolean> {
  const payment = await findByHId(payments, merchant_id, environment, h_id)
  // No provider has been called for a withdrawal that is not admitted.
  if (!payment || !isAdmitted(payment)) return false
  const { account, schedule } = connected
  const operation = operationOfReport(payment, account.account_id, report)
  if (operation === undefined) return false
  const change = applyResult(operation, report.result, schedule.first_ms, true)
  const apply = (current: StoredPayment): Payment | undefined => {
    const updated = change(requireAdmitted(current))
    return updated === current ? undefined : updated
  }
  const fields = { provider_account: account.account_id, payment_id: payment.payment_id }
  const { traceparent: stored } = payment
  await inSpan({ name: 'provider_callback', kind: 'server', fields, stored }, async () => {
    const updated = await runner.update(keyOfPayment(payment), apply, payment)
    // The status is durable now. The provider does not wait for the ledger and the event.
    if (updated) runner.runEffectsInBackground(updated)
  })
  return true
}

/**
 * The operation that a report is about: the refund or the attempt that its idempotency key names. `undefined` when the
 * account was never asked for it: a provider may report only about its own operations.
 */
function operationOfReport(
  payment: Payment,
  account_id: string,
  { kind, idempotency_key }: ProviderReport,
): OperationRef | undefined {
  const ref = refOfKey(payment, idempotency_key)
  if (ref === undefined || findOperation(payment, ref.refund_id)?.kind !== kind) return undefined
  const { refund_id, attempt_number = 0 } = ref
  const { provider_accounts, attempt, highest_attempt = attempt.number, restored } = payment
  if (refund_id !== undefined) {
    const { approved_at, restored: is_restored } = requireRefund(payment, refund_id)
    // A refund that was restored may have been approved after its backup (P19).
    const is_sent = approved_at !== undefined || is_restored !== undefined
    // It went to the account that was paid, which a restored payment may not know yet.
    const accounts = restored === 'booked' ? provider_accounts : [asPaid(payment).attempt.account_id]
    return is_sent && accounts.includes(account_id) ? ref : undefined
  }
  // A payment that was restored may have gone further after its backup (P19).
  const is_made = restored !== undefined || attempt_number <= highest_attempt
  const was_sent = is_made && provider_accounts[attempt_number - 1] === account_id
  return was_sent ? ref : undefined
}

/** Polls the payment of an unverified callback early: the callback itself is not trusted. Never throws. */
function hastenPoll(
  { payments, refreshStale }: ReceiveProviderCallbackDeps,
  { connected, merchant_id, environment, h_id }: Target,
): void {
  const { account_id } = connected.account
  findByHId(payments, merchant_id, environment, h_id)
    .then((payment) =>
      payment && isAdmitted(payment) && payment.attempt.account_id === account_id
        ? refreshStale(payment)
        : undefined,
    )
    .catch((error: unknown) => {
      log.info({ error, provider_account: account_id }, 'payment of an unverified callback could not be read')
    })
}

function count(provider_account: string, result: 'applied' | 'unverified' | 'unmatched' | 'busy'): void {
  callbacks_total.increment({ provider_account, result })
}
