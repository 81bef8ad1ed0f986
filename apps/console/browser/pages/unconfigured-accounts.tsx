import type { ReactNode } from 'react'
import type { Route } from '#gen/multihub/merchants/v1/route_pb.ts'
import { ProviderAccountService } from '#gen/multihub/payments/v1/provider_account_service_pb.ts'
import { countText } from '../../values/open-items.ts'
import { unconfiguredOf } from '../../values/readiness.ts'
import { useRpc } from '../call/use-rpc.ts'
import { useRights } from '../parts/principal.tsx'
import { ProblemNote } from '../parts/problem-note.tsx'
import { Id, PageLink } from '../parts/text.tsx'
import { Age } from '../parts/values.tsx'

/**
 * Warns of the accounts that are not configured although payments or refunds at them have not ended. No list finds refunds by their
 * account, so the link leads to all approved refunds.
 */
export function UnconfiguredAccounts(): ReactNode {
  const { data, error } = useRpc(ProviderAccountService.method.listUnconfiguredAccounts, {})
  if (error !== null) return <ProblemNote error={error} />
  return data?.accounts.map(({ accountId, openPayments }) => (
    <p key={accountId} role="alert" className="note bad">
      The account <Id>{accountId}</Id> is not configured: nobody asks its provider about{' '}
      <PageLink to={{ path: '/payments', search: { q: `account:${accountId} status:created,processing` } }}>
        {countText(openPayments?.count ?? 0)} payments
      </PageLink>{' '}
      or their{' '}
      <PageLink to={{ path: '/refunds', search: { q: 'status:approved' } }}>approved refunds</PageLink>
      {openPayments?.oldestTime && (
        <>
          , the oldest from <Age>{openPayments.oldestTime}</Age>
        </>
      )}
      . Configure it again.
    </p>
  ))
}

/** Warns of the accounts that a route names and that are not configured. */
export function UnconfiguredOfRoute({ route }: { readonly route: Route }): ReactNode {
  const { is_merchant } = useRights()
  const { data } = useRpc(ProviderAccountService.method.listProviderAccounts, {}, { enabled: !is_merchant })
  const missing =
    data === undefined ? [] : unconfiguredOf(route, new Set(data.accounts.map(({ accountId }) => accountId)))
  return missing.map((account_id) => (
    <p key={account_id} role="alert" className="note waiting">
      The account <Id>{account_id}</Id> is not configured: no payment goes there until it is.
    </p>
  ))
}
