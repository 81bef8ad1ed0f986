import type { ReactNode } from 'react'
import { type ProviderAccount, ProviderAccountSchema } from '#gen/multihub/payments/v1/provider_account_pb.ts'
import { ProviderAccountService } from '#gen/multihub/payments/v1/provider_account_service_pb.ts'
import { provider_acts } from '../../forms/providers.ts'
import { ListPage } from '../lists/list-page.tsx'
import type { ListSpec } from '../lists/list-spec.ts'
import { UnconfiguredAccounts } from './unconfigured-accounts.tsx'

const providers: ListSpec<ProviderAccount> = {
  path: '/providers',
  title: 'Provider accounts',
  question: 'Which accounts at providers take payments, and which circuit breakers are open.',
  desc: ProviderAccountSchema,
  list: ProviderAccountService.method.listProviderAccounts,
  items: 'accounts',
  id: 'accountId',
  columns: [
    'account_id',
    'connector',
    'environment',
    'state',
    'circuit_state',
    'failures',
    'last_failure_time',
  ],
  filters: {},
  acts: provider_acts,
  above: () => <UnconfiguredAccounts />,
  empty: 'No provider account is configured.',
}

/** The list of provider accounts. */
export function ProvidersPage(): ReactNode {
  return <ListPage spec={providers} />
}
