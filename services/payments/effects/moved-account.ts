import { now } from '#lib/base/time.ts'
import type { Collection } from '#lib/store/store.ts'
import { unlimited_log } from '#lib/telemetry/log.ts'
import type { AccountsOfPayments } from '../connectors/find-account.ts'
import { isMoved, type KnownAccount, newMovedAnomaly } from '../domain/account-identity.ts'
import type { Anomaly } from '../domain/anomaly.ts'
import type { Operation } from '../domain/operation.ts'
import { recordLastingAnomaly } from '../store/anomalies.ts'

/** What finding a moved account needs. */
interface MovedAccountDeps extends Pick<AccountsOfPayments, 'accountOf'> {
  readonly known_accounts: Pick<Collection<KnownAccount>, 'get'>
  readonly anomalies: Pick<Collection<Anomaly>, 'get' | 'insert' | 'replace'>
}

/**
 * Makes the question whether an operation was sent to something else than its account is now (P4). The answer yes is an
 * anomaly, one for each account, which is open again a minute after it was dismissed. The store is read only when the account
 * differs, or for an operation that was restored without a stamp. Throws when it is not configured.
 */
export function createMovedAccountCheck({
  accountOf,
  known_accounts,
  anomalies,
}: MovedAccountDeps): (operation: Operation) => Promise<boolean> {
  return async ({ payment, account_stamps }) => {
    const { fingerprint, account } = accountOf(payment)
    if (!isMoved(account_stamps, fingerprint, undefined)) return false
    const { account_id } = account
    const known = await known_accounts.get({ account_id })
    if (!isMoved(account_stamps, fingerprint, known)) return false
    const anomaly = newMovedAnomaly(account, known, now())
    const { is_new } = await recordLastingAnomaly(anomalies, anomaly)
    const fields = { anomaly_id: anomaly.anomaly_id, provider_account: account_id, kind: anomaly.kind }
    if (is_new)
      unlimited_log.error(
        fields,
        'a provider account is configured as another one; confirm it or correct the accounts file',
      )
    return true
  }
}
