import { Conflict, Duplicate } from '#lib/platform/store/errors.ts'
import type { Collection, CollectionSpec, Store, Stored } from '#lib/platform/store/port.ts'
import type { Transaction } from '../domain/transaction.ts'

/** The identity of a transaction. */
export type TransactionKey = Pick<Transaction, 'account_id' | 'idempotency_key'>

/** A stored transaction with the version that its next write must name. */
export type StoredTransaction = Stored<Transaction>

/** The transactions of this provider. */
export interface TransactionStore {
  /** Adds a transaction, or answers the one that is there under its key: the first one of a key is the only one. */
  add(transaction: Transaction): Promise<StoredTransaction>
  get(key: TransactionKey): Promise<StoredTransaction | undefined>
  /** Transactions whose next callback is due by an instant, the most overdue first. */
  dueBy(instant: Date, limit: number, after?: StoredTransaction): Promise<StoredTransaction[]>
  /** Writes what is left of a transaction's callbacks; does nothing when another process has done so meanwhile. */
  update(transaction: StoredTransaction): Promise<void>
  /** Throws when the store does not answer. */
  ping(): Promise<void>
}

const TRANSACTIONS: CollectionSpec = {
  name: 'transactions',
  partition: ['idempotency_key'],
  key: ['idempotency_key', 'account_id'],
  indexes: { due: { fields: ['callback_due_at'], where: 'callback_due_at', across: true } },
  expires: 'kept_until',
}

/** Opens the collection in the role's database. */
export async function openTransactions(store: Store): Promise<TransactionStore> {
  const collection: Collection<Transaction> = await store.collection<Transaction>(TRANSACTIONS)
  const get = ({ account_id, idempotency_key }: TransactionKey): Promise<StoredTransaction | undefined> =>
    collection.get({ account_id, idempotency_key })
  return {
    get,
    async add(transaction) {
      try {
        return await collection.insert(transaction)
      } catch (error) {
        const existing = error instanceof Duplicate ? await get(transaction) : undefined
        if (existing === undefined) throw error
        return existing
      }
    },
    dueBy: (instant, limit, after) =>
      collection.find(
        'due',
        { to: instant },
        { limit, ...(after === undefined ? {} : { after: { ...after } }) },
      ),
    async update({ version, ...transaction }) {
      try {
        await collection.replace(transaction, version)
      } catch (error) {
        // No second try: another process has recorded the same callbacks.
        if (!(error instanceof Conflict)) throw error
      }
    },
    ping: () => store.ping(),
  }
}
