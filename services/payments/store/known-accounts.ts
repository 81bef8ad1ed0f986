import { backoffDelay } from '#lib/base/backoff.ts'
import { randomFraction } from '#lib/base/crypto/random.ts'
import { sleep } from '#lib/base/time.ts'
import { Unavailable } from '#lib/contract/errors/unavailable.ts'
import { upsert } from '#lib/patterns/update.ts'
import { ACT_INDEX } from '#lib/store/kept-acts.ts'
import type { Collection, CollectionSpec } from '#lib/store/store.ts'
import { confirmAccount, type KnownAccount, newKnownAccount } from '../domain/account-identity.ts'
import { type AccountSwitch, switchAccount } from '../domain/account-state.ts'

/**
 * The collection of what is known of provider accounts: one document for each account that a process has had. `by_switch` has the
 * accounts that the operator has switched, which every process reads once a second (P20).
 */
export const KNOWN_ACCOUNTS: CollectionSpec = {
  name: 'known_accounts',
  partition: ['account_id'],
  key: ['account_id'],
  indexes: {
    ...ACT_INDEX,
    in_order: { fields: ['account_id'], across_partitions: true },
    by_switch: { fields: ['switched_at'], where: 'switched_at', across_partitions: true },
  },
}

/** More accounts than processes have had: the configuration names at most about 1,000. */
const ACCOUNTS_MAX = 1_000

/** The ids of the accounts that any process has had: every payment is at one of them. */
export async function listAccountIds(
  known_accounts: Pick<Collection<KnownAccount>, 'find'>,
): Promise<readonly string[]> {
  const known = await known_accounts.find('in_order', {}, { limit: ACCOUNTS_MAX })
  return known.map(({ account_id }) => account_id)
}

/** A first start has one write per account, so that one which is lost must not end it. */
const TRIES_MAX = 10
const PAUSE = { first_ms: 50, max_ms: 1_000 }

/**
 * Stores what each account is, unless it is known already. Before a process sends anything, so that a backup knows the accounts
 * to which its operations can be sent afterwards (P19). Throws `Unavailable` after 10 tries.
 */
export async function rememberAccounts(
  known_accounts: Pick<Collection<KnownAccount>, 'get' | 'insert' | 'replace'>,
  accounts: readonly { readonly fingerprint: string; readonly account: { readonly account_id: string } }[],
): Promise<void> {
  await Promise.all(
    accounts.map(({ fingerprint, account: { account_id } }) =>
      remember(known_accounts, newKnownAccount({ account_id, fingerprint })),
    ),
  )
}

async function remember(
  known_accounts: Pick<Collection<KnownAccount>, 'get' | 'insert' | 'replace'>,
  account: KnownAccount,
): Promise<void> {
  for (let tries = 1; ; tries += 1) {
    try {
      // Nearly every start finds it: a write that the key refuses would cost each of them a commit and its wait.
      await upsert(known_accounts, { account_id: account.account_id }, (known) =>
        known ? undefined : account,
      )
      return
    } catch (error) {
      if (!(error instanceof Unavailable) || tries === TRIES_MAX) throw error
      await sleep(backoffDelay(tries, PAUSE, randomFraction()))
    }
  }
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

/** Stores what the operator lets an account do. Returns the account as it is stored. */
export async function storeSwitch(
  known_accounts: Collection<KnownAccount>,
  account: Pick<KnownAccount, 'account_id' | 'fingerprint'>,
  switched: Omit<AccountSwitch, 'restored_at'>,
): Promise<KnownAccount> {
  const { account_id } = account
  const stored = await upsert(known_accounts, { account_id }, (known) => {
    const before = known ?? newKnownAccount(account)
    const after = switchAccount(before, switched)
    return after === before ? undefined : after
  })
  if (!stored) throw new Error(`the state of the account ${account_id} is gone`)
  return stored
}

/** A page of the accounts that were switched. */
const SWITCHED_PAGE = 1_000

/** What the operator has set of each account that was ever switched, as of a moment after the call began. */
export async function readSwitches(
  known_accounts: Pick<Collection<KnownAccount>, 'find'>,
): Promise<ReadonlyMap<string, AccountSwitch>> {
  const switches = new Map<string, AccountSwitch>()
  let after: KnownAccount | undefined
  do {
    // Linearizable: while a database fails over, a former primary would still say that the account is enabled.
    const options = { limit: SWITCHED_PAGE, linearizable: true, ...(after && { after: { ...after } }) }
    const page = await known_accounts.find('by_switch', {}, options)
    for (const { account_id, switched } of page) if (switched) switches.set(account_id, switched)
    after = page.length < SWITCHED_PAGE ? undefined : page.at(-1)
  } while (after)
  return switches
}
