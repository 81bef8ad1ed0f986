import { isPaidStatus } from '../workload/observe.ts'
import type { ProviderOperation } from '../world/provider/operation.ts'
import { documentsOf, type Invariant, isKeptRefusal, paymentsOf, type StoredPayment } from './judge.ts'

/** The account of the provider that sends no callbacks, so that late lookups must find what it has got (P7). */
const WITHOUT_CALLBACKS = 'forms'

/**
 * The provider's books agree with ours for every final payment, and no payment is paid twice. At most one payment is stored under a
 * `c_id`, so that another one that was paid under it is an operation of a payment that does not exist.
 */
export const booksAgree: Invariant = function* (evidence) {
  const operations = new Map<string, ProviderOperation[]>()
  for (const operation of evidence.operations) {
    if (operation.kind === 'refund') continue
    const payment_id = operation.idempotency_key.split(':')[0] ?? ''
    operations.set(payment_id, [...(operations.get(payment_id) ?? []), operation])
  }
  const anomalies = documentsOf<{ payment_id: string }>(evidence.databases, 'payments', 'anomalies')
  for (const payment of paymentsOf(evidence)) {
    const of_payment = operations.get(payment.payment_id) ?? []
    operations.delete(payment.payment_id)
    const has_anomaly = anomalies.some(({ payment_id }) => payment_id === payment.payment_id)
    yield* compare(payment, of_payment, { has_anomaly, is_day_over: evidence.is_day_over ?? false })
  }
  for (const payment of documentsOf<StoredPayment>(evidence.databases, 'payments', 'payments')) {
    if (!isKeptRefusal(payment)) continue
    operations.delete(payment.payment_id)
    if (!anomalies.some(({ payment_id }) => payment_id === payment.payment_id))
      yield `the withdrawal ${payment.payment_id} was refused after the restore, and there is no anomaly`
  }
  for (const payment_id of operations.keys())
    if (!evidence.lost?.has(payment_id))
      yield `the provider has operations of ${payment_id}, which does not exist`
}

function* compare(
  { payment_id, direction, amount, currency, status, attempt, paid_attempt }: StoredPayment,
  operations: readonly ProviderOperation[],
  { has_anomaly, is_day_over }: { readonly has_anomaly: boolean; readonly is_day_over: boolean },
): Iterable<string> {
  const paid = operations.filter((operation) => operation.status === 'success')
  if (paid.length > 1) yield `${payment_id} was paid ${paid.length} times`
  const accounts = new Set(operations.map(({ account_id }) => account_id))
  if (accounts.size > 1) yield `${payment_id} is at the accounts ${[...accounts]}`
  const [operation] = paid
  // The operator's lists, from which chaos judges, do not name attempts.
  const counted = paid_attempt ?? attempt?.number
  if (isPaidStatus(status)) {
    if (operation === undefined) yield `${payment_id} is ${status}, and the provider was never paid`
    else if (BigInt(operation.amount) !== amount || operation.currency !== currency) {
      yield `${payment_id} is ${status} over ${amount} ${currency}, paid were ${operation.amount} ${operation.currency}`
    } else if (counted !== undefined && operation.idempotency_key !== `${payment_id}:${counted}`) {
      // Its refunds would go there.
      yield `${payment_id} counts as paid at attempt ${counted}, paid was ${operation.idempotency_key}`
    }
  } else if (direction === 'out' && operation !== undefined) {
    // Its funds were given back, or will be.
    yield `the withdrawal ${payment_id} is ${status}, and the provider paid it`
  } else if (operation !== undefined && !has_anomaly) {
    if (operation.is_success_acknowledged)
      yield `${payment_id} is ${status}, the provider's success was acknowledged, and there is no anomaly`
    if (is_day_over && operation.account_id === WITHOUT_CALLBACKS)
      yield `${payment_id} is ${status}, its provider was paid, and a day later there is no anomaly`
  }
}
