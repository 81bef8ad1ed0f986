import { insertOrGet, upsert } from '#lib/patterns/update.ts'
import type { Collection, CollectionSpec } from '#lib/store/store.ts'
import { confirmAccount, type KnownAccount, newKnownAccount } from '../domain/account-identity.ts'

/** The collection of what is known of provider accounts: one document for each account that a process has had. */
export const KNOWN_ACCOUNTS: CollectionSpec = {
  name: 'known_accounts',
  partition: ['account_id'],
  key: ['account_id'],
}

/**
 * Stores what each account is, unless it is known already. Before a process sends anything, so that a backup knows the accounts
 * to which its operations can be sent afterwards (P19).
 */
export async function rememberAccounts(
  known_accounts: Collection<KnownAccount>,
  accounts: readonly { readonly fingerprint: string; readonly account: { readonly account_id: string } }[],
): Promise<void> {
  await Promise.all(
    accounts.map(({ fingerprint, account: { account_id } }) =>
      insertOrGet(known_accounts, { account_id }, newKnownAccount({ account_id, fingerprint })),
    ),
  )
}

/** Stores the confirmation of what an account is now, once per operation. Returns the newest one. */
export async function storeConfirmation(
  known_accounts: Collection<KnownAccount>,
  confirmed: Parameters<typeof confirmAccount>[1],
): Promise<KnownAccount> {
  const { account_id } = confirmed
  const stored = await upsert(known_accounts, { account_id }, (known) => {
    const newest = confirmAccount(known, confirmed)
    return newest === known ? undefined : newest
  })
  if (!stored) throw new Error(`the confirmation of the account ${account_id} is gone`)
  return stored
}
