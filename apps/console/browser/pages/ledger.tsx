import type { ReactNode } from 'react'
import { type LedgerEntry, LedgerEntrySchema } from '#gen/multihub/balances/v1/balance_pb.ts'
import { BalanceService } from '#gen/multihub/balances/v1/balance_service_pb.ts'
import type { Environment } from '#gen/multihub/common/v1/environment_pb.ts'
import { ListPage } from '../lists/list-page.tsx'
import type { ListSpec } from '../lists/list-spec.ts'
import { BalanceCharts } from './ledger-chart.tsx'
import { MerchantChoices } from './merchant-choices.tsx'

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
  get: {
    method: BalanceService.method.getEntry,
    field: 'entry',
    of_list: ['merchantId', 'environment'],
  },
  needs: ['merchant', 'env'],
  choices: <MerchantChoices path="/balances" has_environment />,
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

/** The ledger of a merchant. */
export function BalancesPage(): ReactNode {
  return <ListPage spec={entries} />
}
