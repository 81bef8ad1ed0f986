import type { Choices } from '../../parts/random.ts'
import type { Machine } from '../../parts/simulated-process.ts'
import type { ProviderFaults } from './faults.ts'
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
  /** Drops an operation permanently, unpaid. The system knows from us that we had it, so it never asks for it again (P4). */
  drop(operation: ProviderOperation): void
  /** From now on these books also know what the others have. */
  join(others: Pick<Books, 'operations'>): void
}

/** A request arrives within this time, also from a process that was paused while it sent it. */
const ARRIVES_WITHIN_MS = 60_000

/** What books run on. */
export interface BooksDeps {
  readonly machine: Pick<Machine, 'now_ms'>
  readonly choices: Choices
  readonly faults: Pick<ProviderFaults, 'forgotten' | 'found_after_ms'>
  /** Whether a repeated key is the same operation; without, no create may be repeated. */
  readonly has_keys: boolean
}

/**
 * Makes empty books. `onCreated` decides what happens to a new operation, `onProblem` gets what is wrong with orders. A lookup
 * does not find an operation that is forgotten this time, dropped, or too new.
 */
export function createBooks(
  { machine, choices, faults, has_keys }: BooksDeps,
  onCreated: (operation: ProviderOperation) => void,
  onProblem: (problem: string) => void,
): Books {
  const own = new Map<string, ProviderOperation>()
  let joined: Pick<Books, 'operations'> | undefined
  /** The keys that lookups did not find. */
  const not_found = new Set<string>()
  const nameOf = (account_id: string, key: string): string => `${account_id} ${key}`
  const operations = (): Iterable<ProviderOperation> => [...own.values(), ...(joined?.operations() ?? [])]
  const find: Books['find'] = (account_id, key) =>
    own.get(nameOf(account_id, key)) ??
    [...(joined?.operations() ?? [])].find(
      (operation) => operation.account_id === account_id && operation.idempotency_key === key,
    )

  const isFound = ({ dropped_ms, created_ms }: ProviderOperation): boolean =>
    dropped_ms === undefined && created_ms + faults.found_after_ms <= machine.now_ms()

  function repeat(
    operation: ProviderOperation,
    name: string,
    order: ProviderOrder,
  ): OrderedOperation | undefined {
    const { kind, idempotency_key, deposit_idempotency_key, amount, currency, method } = order
    if (machine.now_ms() > (operation.dropped_ms ?? Number.POSITIVE_INFINITY) + ARRIVES_WITHIN_MS)
      onProblem(`the create ${idempotency_key} was repeated after the provider had confirmed it (P4)`)
    else if (!has_keys)
      onProblem(`the create ${idempotency_key} was repeated at a provider without keys (P4)`)
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
    operations: () => own.values(),
    find,
    create(account_id, order) {
      const name = nameOf(account_id, order.idempotency_key)
      const existing = find(account_id, order.idempotency_key)
      if (existing !== undefined) return repeat(existing, name, order)
      const problemWith = (others: readonly ProviderOperation[]): string | undefined =>
        order.kind === 'refund' ? refundProblem(find, others, { account_id, order }) : undefined
      const all = [...operations()]
      const problem = problemWith(all.filter(({ is_forgotten }) => is_forgotten !== true))
      if (problem !== undefined) {
        onProblem(`the refund ${order.idempotency_key} of ${order.amount} ${order.currency} ${problem}`)
        return undefined
      }
      const operation = newOperation(account_id, order, own.size + 1, machine.now_ms())
      own.set(name, operation)
      // What a restored system has forgotten, only its provider can refuse to pay back again.
      if (problemWith(all) === undefined) onCreated(operation)
      else operation.status = 'declined'
      return { operation, is_new: true }
    },
    lookUp(account_id, key) {
      const name = nameOf(account_id, key)
      const known = choices.chance(faults.forgotten) ? undefined : find(account_id, key)
      const operation = known && isFound(known) ? known : undefined
      if (operation === undefined) not_found.add(name)
      return operation
    },
    drop(operation) {
      operation.status = 'canceled'
      operation.dropped_ms = machine.now_ms()
    },
    join(others) {
      joined = others
    },
  }
}

function newOperation(
  account_id: string,
  order: ProviderOrder,
  number: number,
  created_ms: number,
): ProviderOperation {
  return {
    ...order,
    account_id,
    provider_id: `p-${number}`,
    created_ms,
    status: 'pending',
    is_success_acknowledged: false,
  }
}

/**
 * Why a refund must not be paid; `undefined` when it may. A provider would refuse such a one, but none may be asked: a
 * provider that forgets to check would pay back more than it got.
 */
function refundProblem(
  find: Books['find'],
  operations: Iterable<ProviderOperation>,
  { account_id, order }: { readonly account_id: string; readonly order: ProviderOrder },
): string | undefined {
  const { deposit_idempotency_key: key = '', amount, currency } = order
  const deposit = find(account_id, key)
  if (deposit?.kind !== 'deposit' || deposit.status !== 'success') return 'is of a deposit that was not paid'
  if (deposit.currency !== currency) return `has another currency than its deposit: ${deposit.currency}`
  let refunded = 0
  for (const other of operations) {
    const is_paid = other.status === 'success' || other.status === 'pending'
    if (other.deposit_idempotency_key === key && other.account_id === account_id && is_paid)
      refunded += other.amount
  }
  return refunded + amount > deposit.amount
    ? `exceeds its deposit of ${deposit.amount}, of which ${refunded} are paid back`
    : undefined
}
