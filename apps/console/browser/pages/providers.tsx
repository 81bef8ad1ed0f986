import type { ReactNode } from 'react'
import {
  AccountState,
  type ProviderAccount,
  ProviderAccountSchema,
} from '#gen/multihub/payments/v1/provider_account_pb.ts'
import { ProviderAccountService } from '#gen/multihub/payments/v1/provider_account_service_pb.ts'
import type { Act } from '../acts/act.ts'
import { callRpc } from '../call/call-rpc.ts'
import { ListPage } from '../lists/list-page.tsx'
import type { ListSpec } from '../lists/list-spec.ts'

function setState(name: string, state: AccountState, effects: readonly string[]): Act<ProviderAccount> {
  return {
    name,
    rights: ['admin'],
    isOffered: (account) => account.state !== state,
    effects: ({ accountId }) => [`Account ${accountId}: ${name.toLowerCase()}.`, ...effects],
    async run({ accountId }, { reason }) {
      await callRpc(ProviderAccountService.method.setAccountState, { accountId, state, reason }, { reason })
      return undefined
    },
  }
}

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
  acts: [
    setState('Drain', AccountState.DRAINING, [
      'It gets no new payments: routes use their next account. Polls and refunds of old payments go on.',
    ]),
    setState('Disable', AccountState.DISABLED, [
      'Nothing that moves money is sent to it, refunds included. Look-ups and callbacks go on.',
    ]),
    setState('Enable', AccountState.ENABLED, ['It gets new payments again.']),
  ],
  empty: 'No provider account is configured.',
}

/** The list of provider accounts. */
export function ProvidersPage(): ReactNode {
  return <ListPage spec={providers} />
}
