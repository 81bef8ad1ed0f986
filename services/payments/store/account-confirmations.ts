import { upsert } from '#lib/patterns/update.ts'
import type { Collection, CollectionSpec } from '#lib/store/store.ts'
import { type AccountConfirmation, confirmAccount } from '../domain/account-identity.ts'

/** The collection of what the operator has confirmed about provider accounts: at most one document for each account. */
export const ACCOUNT_CONFIRMATIONS: CollectionSpec = {
  name: 'account_confirmations',
  partition: ['account_id'],
  key: ['account_id'],
}

/** Stores the confirmation of what an account is now, once per operation. Returns the newest one. */
export async function storeConfirmation(
  confirmations: Collection<AccountConfirmation>,
  confirmed: Parameters<typeof confirmAccount>[1],
): Promise<AccountConfirmation> {
  const { account_id } = confirmed
  const stored = await upsert(confirmations, { account_id }, (known) => {
    const newest = confirmAccount(known, confirmed)
    return newest === known ? undefined : newest
  })
  if (!stored) throw new Error(`the confirmation of the account ${account_id} is gone`)
  return stored
}
