import { useSearch } from '@tanstack/react-router'
import type { ReactNode } from 'react'
import { type LedgerEntry, LedgerEntrySchema } from '#gen/multihub/balances/v1/balance_pb.ts'
import { BalanceService } from '#gen/multihub/balances/v1/balance_service_pb.ts'
import { Environment } from '#gen/multihub/common/v1/environment_pb.ts'
import { MerchantService } from '#gen/multihub/merchants/v1/merchant_service_pb.ts'
import { useRpc } from '../call/use-rpc.ts'
import { ListPage } from '../lists/list-page.tsx'
import type { ListSpec } from '../lists/list-spec.ts'
import { useRights } from '../parts/principal.tsx'
import { PageLink, Text } from '../parts/text.tsx'
import { BalanceCharts } from './ledger-chart.tsx'

const entries: ListSpec<LedgerEntry> = {
  path: '/balances',
  title: 'Balances',
  question: 'What moved on the accounts of a merchant, and what was there after it, the newest first.',
  desc: LedgerEntrySchema,
  list: BalanceService.method.listEntries,
  items: 'entries',
  id: 'entryId',
  columns: [
    'entry_id',
    'create_time',
    'kind',
    'amount',
    'available_after',
    'held_after',
    'payment_id',
    'reason',
  ],
  filters: {
    merchant: 'merchant_id',
    env: 'environment',
    currency: 'currency',
    kind: 'kind',
    payment: 'payment_id',
    created: 'created_from',
  },
  fixed: { newestFirst: true },
  needs: ['merchant', 'env'],
  choices: <Accounts />,
  above: ({ merchantId, environment, currency }) => (
    <BalanceCharts
      key={`${merchantId} ${environment}`}
      merchant_id={String(merchantId ?? '')}
      environment={environment as Environment}
      currency={String(currency ?? '')}
    />
  ),
  empty: 'Nothing has moved.',
}

/** How many merchants are offered; the page of any other one leads here too. */
const MERCHANTS_MAX = 20

/** The accounts that a person can choose: of the own merchant, or of the first merchants. */
function Accounts(): ReactNode {
  const { may, is_merchant } = useRights()
  const { data } = useRpc(
    MerchantService.method.listMerchants,
    { pageSize: MERCHANTS_MAX },
    { every_ms: 0, enabled: may('read') && !is_merchant },
  )
  const { q = '' }: { readonly q?: string } = useSearch({ strict: false })
  if (is_merchant)
    return ['test', 'production'].map((env) => (
      <span key={env}>
        <PageLink to={{ path: '/balances', search: { q: `${q} env:${env}`.trim() } }}>{env}</PageLink>{' '}
      </span>
    ))
  return data?.merchants.map(({ merchantId, name, environments }) => (
    <span key={merchantId} className="reference">
      <Text>{name}</Text>{' '}
      {environments.map((environment) => {
        const env = environment === Environment.PRODUCTION ? 'production' : 'test'
        return (
          <span key={env}>
            <PageLink to={{ path: '/balances', search: { q: `merchant:${merchantId} env:${env}` } }}>
              {env}
            </PageLink>{' '}
          </span>
        )
      })}
    </span>
  ))
}

/** The ledger of a merchant. */
export function BalancesPage(): ReactNode {
  return <ListPage spec={entries} />
}
