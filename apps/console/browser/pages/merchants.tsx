import type { ReactNode } from 'react'
import { type Merchant, MerchantSchema } from '#gen/multihub/merchants/v1/merchant_pb.ts'
import { MerchantService } from '#gen/multihub/merchants/v1/merchant_service_pb.ts'
import { createMerchant } from '../../forms/merchants.ts'
import { ActBar } from '../acts/act-bar.tsx'
import { ListPage } from '../lists/list-page.tsx'
import type { ListSpec } from '../lists/list-spec.ts'

const merchants: ListSpec<Merchant> = {
  path: '/merchants',
  title: 'Merchants',
  question: 'Who uses Multihub. The search finds a merchant by the beginning of its name.',
  desc: MerchantSchema,
  list: MerchantService.method.listMerchants,
  items: 'merchants',
  id: 'merchantId',
  folder: 'merchants',
  columns: ['name', 'merchant_id', 'status', 'environments', 'timezone', 'create_time'],
  filters: {},
  empty: 'There is no merchant yet.',
}

/** The list of merchants. */
export function MerchantsPage(): ReactNode {
  return (
    <ListPage spec={merchants}>
      <ActBar acts={[createMerchant]} item={undefined} />
    </ListPage>
  )
}
