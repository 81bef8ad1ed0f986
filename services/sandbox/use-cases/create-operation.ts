import { now } from '#lib/platform/time.ts'
import { paymentScenario, refundScenario, refusedScenario, type Scenario } from '../domain/scenarios.ts'
import { isOf, isPaid, newTransaction } from '../domain/transaction.ts'
import type { Order } from '../http/protocol.ts'
import type { StoredTransaction, TransactionStore } from '../store/sandbox-store.ts'

/** What an order led to: its transaction, and whether this order was the first one under its key. */
export type Creation =
  | { readonly kind: 'stored'; readonly transaction: StoredTransaction; readonly first: boolean }
  | { readonly kind: 'key_of_another' }

/**
 * Starts the operation of an order, once for its key however often it is asked for: a repeat gets the operation that
 * is there, and the same key with other content gets nothing.
 */
export async function create(
  transactions: TransactionStore,
  account_id: string,
  order: Order,
  delay_ms: number,
): Promise<Creation> {
  const scenario =
    order.kind === 'refund'
      ? await decideRefund(transactions, account_id, order)
      : paymentScenario(order.kind, order.amount)
  const made = newTransaction(account_id, order, scenario, { now: now(), delay_ms })
  const transaction = await transactions.add(made)
  if (!isOf(transaction, order)) return { kind: 'key_of_another' }
  return { kind: 'stored', transaction, first: transaction.provider_id === made.provider_id }
}

/** Refusals have the codes of the error table: no such payment, not paid, another currency, more than was paid. */
async function decideRefund(
  transactions: TransactionStore,
  account_id: string,
  order: Extract<Order, { kind: 'refund' }>,
): Promise<Scenario> {
  const deposit = await transactions.get({ account_id, idempotency_key: order.deposit_idempotency_key })
  if (deposit?.kind !== 'deposit') return refusedScenario(6010)
  if (!isPaid(deposit, now())) return refusedScenario(8801)
  if (order.currency !== deposit.currency) return refusedScenario(6002)
  if (order.amount > deposit.amount) return refusedScenario(6001)
  return refundScenario(deposit.amount)
}
