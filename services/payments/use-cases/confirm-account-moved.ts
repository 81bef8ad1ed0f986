import { now } from '#lib/base/time.ts'
import { fieldError } from '#lib/contract/errors/public-error.ts'
import type { Collection } from '#lib/store/store.ts'
import { log } from '#lib/telemetry/log.ts'
import type { ConnectedAccount } from '../connectors/connect-account.ts'
import { type KnownAccount, keyOfMovedAnomaly } from '../domain/account-identity.ts'
import type { Anomaly } from '../domain/anomaly.ts'
import { closeAnomaly } from '../store/anomalies.ts'
import { storeConfirmation } from '../store/known-accounts.ts'

/** What confirming a moved account needs. */
export interface ConfirmAccountMovedDeps {
  readonly accounts: readonly ConnectedAccount[]
  readonly known_accounts: Collection<KnownAccount>
  readonly anomalies: Collection<Anomaly>
}

/**
 * Confirms that a provider account, as this process has it, knows all operations that were sent to it before (P4): they are
 * asked for, sent again and refunded there again. Resolves the anomaly about it. Once per `operation_id`: a repetition
 * changes nothing. Throws 9000 for an unknown account.
 */
export async function confirmAccountMoved(
  { accounts, known_accounts, anomalies }: ConfirmAccountMovedDeps,
  { account_id, operation_id }: { readonly account_id: string; readonly operation_id: string },
): Promise<ConnectedAccount> {
  const connected = accounts.find(({ account }) => account.account_id === account_id)
  if (connected === undefined) throw fieldError(9000, 'account_id')
  const { fingerprint } = connected
  const at = now()
  const stored = await storeConfirmation(known_accounts, { account_id, fingerprint, operation_id, at })
  // A repetition of the last one finishes what a crash has left.
  if (stored.operation_ids.at(-1) === operation_id) {
    const note = 'the account was confirmed'
    const resolution = { kind: 'dismissed', operation_id, note, at } as const
    await closeAnomaly(anomalies, keyOfMovedAnomaly(account_id, stored.count - 1), resolution)
    log.info({ provider_account: account_id }, 'provider account confirmed')
  }
  return connected
}
