import type { ReactNode } from 'react'
import { ExchangeService } from '#gen/multihub/backoffice/v1/exchange_service_pb.ts'
import { type Exchange, ExchangeSchema } from '#gen/multihub/gateway/v1/exchange_pb.ts'
import { ListPage } from '../lists/list-page.tsx'
import type { ListSpec } from '../lists/list-spec.ts'
import { MerchantChoices } from './merchant-choices.tsx'

const requests: ListSpec<Exchange> = {
  path: '/requests',
  title: 'Requests',
  question:
    'What programs of merchants asked, and what they were answered, the newest first, for 7 days. In production refusals only.',
  desc: ExchangeSchema,
  list: ExchangeService.method.listExchanges,
  items: 'exchanges',
  id: 'requestId',
  columns: [
    'request_id',
    'time',
    'method',
    'http_status',
    'code',
    'field',
    'duration_ms',
    'c_id',
    'merchant_id',
    'application_id',
  ],
  filters: {
    merchant: 'merchant_id',
    application: 'application_id',
    method: 'method',
    code: 'code',
    refused: 'only_refused',
    created: 'created_from',
  },
  get: { method: ExchangeService.method.getExchange, field: 'exchange' },
  needs: ['merchant'],
  choices: <MerchantChoices path="/requests" />,
  empty: 'No program of a merchant has asked anything in the last 7 days.',
}

/** The list of requests of merchants. */
export function RequestsPage(): ReactNode {
  return <ListPage spec={requests} />
}
