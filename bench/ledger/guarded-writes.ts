import { Conflict } from '#lib/store/errors.ts'
import type { Store } from '#lib/store/store.ts'
import { merchantOf, type Transfer } from './transfers.ts'

interface Balance {
  readonly merchant_id: string
  readonly available: bigint
}

/**
 * Transfers without a log, on one account: each inserts its entry first, which detects a repeated id, and then replaces
 * the balance under its version. The balance writes of this process run one after the other: 512 at a time would mostly
 * conflict and repeat.
 */
export async function createGuardedTransfer(store: Store): Promise<Transfer> {
  const spec = { partition: ['merchant_id'] }
  const balances = await store.collection<Balance>({ ...spec, name: 'balances', key: ['merchant_id'] })
  const entries = await store.collection({ ...spec, name: 'entries', key: ['merchant_id', 'id'] })
  const merchant_id = merchantOf(0)
  await balances.insert({ merchant_id, available: 0n })
  const addToBalance = async (): Promise<void> => {
    for (;;) {
      const balance = await balances.get({ merchant_id })
      if (balance === undefined) throw new Error('the balance is missing')
      try {
        await balances.replace({ ...balance, available: balance.available + 100n }, balance.version)
        return
      } catch (error) {
        if (!(error instanceof Conflict)) throw error
      }
    }
  }
  let last_write = Promise.resolve()
  return async (id) => {
    await entries.insert({ merchant_id, id, amount: 100n, reason: 'deposit' })
    last_write = last_write.then(addToBalance)
    await last_write
  }
}
