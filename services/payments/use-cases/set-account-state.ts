import { now } from '#lib/base/time.ts'
import { fieldError } from '#lib/contract/errors/public-error.ts'
import type { Collection } from '#lib/store/store.ts'
import { log } from '#lib/telemetry/log.ts'
import type { AccountStates } from '../account-states.ts'
import type { ConnectedAccount } from '../connectors/connect-account.ts'
import type { KnownAccount } from '../domain/account-identity.ts'
import type { AccountSwitch } from '../domain/account-state.ts'
import { storeSwitch } from '../store/known-accounts.ts'

/** What switching a provider account needs. */
export interface SetAccountStateDeps {
  readonly accounts: readonly ConnectedAccount[]
  readonly known_accounts: Collection<KnownAccount>
  readonly account_states: Pick<AccountStates, 'refresh'>
}

/**
 * Stores what the operator lets a provider account do (P20); all processes obey within 5 s. A repetition changes nothing. Throws 9000
 * for an account that this process does not have.
 */
export async function setAccountState(
  { accounts, known_accounts, account_states }: SetAccountStateDeps,
  account_id: string,
  given: Pick<AccountSwitch, 'state' | 'reason' | 'principal_id'>,
): Promise<ConnectedAccount> {
  const connected = accounts.find(({ account }) => account.account_id === account_id)
  if (connected === undefined) throw fieldError(9000, 'account_id')
  const { fingerprint } = connected
  const switched = { ...given, at: now() }
  await storeSwitch(known_accounts, { account_id, fingerprint }, switched)
  log.warn(
    { provider_account: account_id, state: given.state },
    'the operator has set the state of a provider account',
  )
  await account_states.refresh()
  return connected
}
