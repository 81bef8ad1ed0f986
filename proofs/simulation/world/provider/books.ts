import type { ProviderOperation } from './operation.ts'

/** What a provider is asked for. */
export type ProviderOrder = Pick<
  ProviderOperation,
  | 'kind'
  | 'idempotency_key'
  | 'deposit_idempotency_key'
  | 'amount'
  | 'currency'
  | 'method'
  | 'callback_url'
  | 'expires_ms'
>

/** An operation that an order has made, now or before. */
export interface OrderedOperation {
  readonly operation: ProviderOperation
  readonly is_new: boolean
}

/** The books of a provider: the judge of what was paid. They know nothing of ours. */
export interface Books {
  operations(): Iterable<ProviderOperation>
  /** The operation of an order, new or known; `undefined` for an order that must not be sent, which is a problem. */
  create(account_id: string, order: ProviderOrder): OrderedOperation | undefined
  /** What they have under a key, whatever a lookup finds. */
  find(account_id: string, idempotency_key: string): ProviderOperation | undefined
  lookUp(account_id: string, idempotency_key: string): ProviderOperation | undefined
}

/**
 * Makes empty books. `has_keys` says whether a repeated key is the same operation; without, no create may be repeated.
 * `isForgotten` decides whether a lookup does not find an operation that they have.
 * `onCreated` decides what happens to a new operation, `onProblem` gets what is wrong with orders.
 */
export function createBooks(
  { has_keys, isForgotten }: { readonly has_keys: boolean; readonly isForgotten: () => boolean },
  onCreated: (operation: ProviderOperation) => void,
  onProblem: (problem: string) => void,
): Books {
  const operations = new Map<string, ProviderOperation>()
  /** The keys that lookups did not find. */
  const not_found = new Set<string>()
  const nameOf = (account_id: string, key: string): string => `${account_id} ${key}`

  function repeat(
    operation: ProviderOperation,
    name: string,
    order: ProviderOrder,
  ): OrderedOperation | undefined {
    const { kind, idempotency_key, deposit_idempotency_key, amount, currency, method } = order
    if (!has_keys) onProblem(`the create ${idempotency_key} was repeated at a provider without keys (P4)`)
    else if (!not_found.has(name))
      onProblem(`the create ${idempotency_key} was repeated without a lookup (P4)`)
    const is_same =
      operation.kind === kind &&
      operation.deposit_idempotency_key === deposit_idempotency_key &&
      operation.amount === amount &&
      operation.currency === currency &&
      operation.method === method
    if (is_same) return { operation, is_new: false }
    onProblem(`the key ${idempotency_key} was sent for two different operations`)
    return undefined
  }

  return {
    operations: () => operations.values(),
    find: (account_id, key) => operations.get(nameOf(account_id, key)),
    create(account_id, order) {
      const name = nameOf(account_id, order.idempotency_key)
      const existing = operations.get(name)
      if (existing !== undefined) return repeat(existing, name, order)
      const problem = order.kind === 'refund' ? refundProblem(operations, account_id, order) : undefined
      if (problem !== undefined) {
        onProblem(`the refund ${order.idempotency_key} of ${order.amount} ${order.currency} ${problem}`)
        return undefined
      }
      const operation: ProviderOperation = {
        ...order,
        account_id,
        provider_id: `p-${operations.size + 1}`,
        status: 'pending',
        is_success_acknowledged: false,
      }
      operations.set(name, operation)
      onCreated(operation)
      return { operation, is_new: true }
    },
    lookUp(account_id, key) {
      const name = nameOf(account_id, key)
      const operation = isForgotten() ? undefined : operations.get(name)
      if (operation === undefined) not_found.add(name)
      return operation
    },
  }
}

/**
 * Why a refund must not be paid; `undefined` when it may. A provider would refuse such a one, but none may be asked: a
 * provider that forgets to check would pay back more than it got.
 */
function refundProblem(
  operations: ReadonlyMap<string, ProviderOperation>,
  account_id: string,
  { deposit_idempotency_key: key = '', amount, currency }: ProviderOrder,
): string | undefined {
  const deposit = operations.get(`${account_id} ${key}`)
  if (deposit?.kind !== 'deposit' || deposit.status !== 'success') return 'is of a deposit that was not paid'
  if (deposit.currency !== currency) return `has another currency than its deposit: ${deposit.currency}`
  let refunded = 0
  for (const other of operations.values()) {
    const is_paid = other.status === 'success' || other.status === 'pending'
    if (other.deposit_idempotency_key === key && other.account_id === account_id && is_paid)
      refunded += other.amount
  }
  return refunded + amount > deposit.amount
    ? `exceeds its deposit of ${deposit.amount}, of which ${refunded} are paid back`
    : undefined
}
