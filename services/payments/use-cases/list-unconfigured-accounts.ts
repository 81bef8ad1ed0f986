import type { MessageInitShape } from '@bufbuild/protobuf'
import type { OpenItemsSchema } from '#gen/multihub/common/v1/open_items_pb.ts'
import { ENVIRONMENTS } from '#lib/contract/environment.ts'
import { isFinal, PAYMENT_STATUSES } from '#lib/contract/payment-status.ts'
import { countOpen } from '#lib/patterns/open-items.ts'
import type { Collection } from '#lib/store/store.ts'
import type { ConnectedAccount } from '../connectors/connect-account.ts'
import type { KnownAccount } from '../domain/account-identity.ts'
import type { StoredPayment } from '../domain/payment.ts'
import { listAccountIds } from '../store/known-accounts.ts'

/** What the accounts that are not configured are found in. */
export interface UnconfiguredAccountsDeps {
  readonly payments: Collection<StoredPayment>
  readonly known_accounts: Collection<KnownAccount>
  readonly accounts: readonly ConnectedAccount[]
}

/** An account that this process is not configured for, although payments wait for its provider. */
export interface UnconfiguredAccount {
  readonly account_id: string
  /** Its payments that have not ended, or have an approved refund that has not. */
  readonly open_payments: MessageInitShape<typeof OpenItemsSchema>
}

const OPEN_STATUSES = Array.from(PAYMENT_STATUSES.names).filter((status) => !isFinal(status))

/**
 * The accounts that some process has had, this one has not, and payments or approved refunds that have not ended are at. Nobody asks
 * their provider until they are configured again. An account where all have ended is left out: it was retired.
 */
export async function listUnconfiguredAccounts({
  payments,
  known_accounts,
  accounts,
}: UnconfiguredAccountsDeps): Promise<readonly UnconfiguredAccount[]> {
  const configured = new Set(accounts.map(({ account }) => account.account_id))
  const missing = (await listAccountIds(known_accounts)).filter((account_id) => !configured.has(account_id))
  const counted = await Promise.all(
    missing.map(async (account_id) => {
      const ranges = Array.from(ENVIRONMENTS.names).flatMap((environment) =>
        OPEN_STATUSES.map((status) => ({ index: 'by_account', fixed: { account_id, environment, status } })),
      )
      const refunds = { index: 'by_open_refund', fixed: { account_id } }
      const open_payments = await countOpen(
        payments,
        [...ranges, refunds],
        ({ open_refund, created_at }) => open_refund?.since ?? created_at,
      )
      return { account_id, open_payments }
    }),
  )
  return counted.filter(({ open_payments: { count = 0 } }) => count > 0)
}
