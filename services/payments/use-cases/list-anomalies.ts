import { sha256Hex } from '#lib/base/crypto/hash.ts'
import { readMergedPage, type Selection } from '#lib/patterns/paging/read-merged-page.ts'
import { type Page, type PageRequest, readPage } from '#lib/patterns/paging/read-page.ts'
import type { Collection } from '#lib/store/store.ts'
import { ANOMALY_KINDS, type Anomaly, type AnomalyKind } from '../domain/anomaly.ts'

/** Which anomalies to list; without a field, all. An account goes with no merchant. */
export interface AnomalyFilter {
  readonly merchant_id?: string | undefined
  readonly account_id?: string | undefined
  readonly payment_id?: string | undefined
  readonly kind?: AnomalyKind | undefined
  /** Only those that wait for the operator. */
  readonly is_open: boolean
}

/** Lists a page of the anomalies of all merchants, newest first: of those that are open, by the time at which they were opened. */
export function listAnomalies(
  anomalies: Pick<Collection<Anomaly>, 'find'>,
  filter: AnomalyFilter,
  page: PageRequest,
): Promise<Page<Anomaly>> {
  if (filter.payment_id !== undefined) return listOfPayment(anomalies, filter, filter.payment_id, page)
  const time = filter.is_open ? 'open_since' : 'created_at'
  return readMergedPage<Anomaly>(
    {
      collection: anomalies,
      selections: selectionsOf(filter),
      reverse: true,
      order: { [time]: 'instant', merchant_id: 'text', anomaly_id: 'text' },
      key: {},
      token_scope: { list: sha256Hex(JSON.stringify(filter)).slice(0, 16) },
    },
    page,
  )
}

function selectionsOf({ merchant_id, account_id, kind, is_open }: AnomalyFilter): readonly Selection[] {
  const all = is_open ? 'by_open' : 'by_created'
  const of_one = {
    ...(merchant_id === undefined ? {} : { merchant_id }),
    ...(account_id === undefined ? {} : { account_id }),
  }
  if (kind === undefined && Object.keys(of_one).length === 0) return [{ index: all, fixed: {} }]
  const of = account_id !== undefined ? 'account' : merchant_id !== undefined ? 'merchant' : 'kind'
  const index = is_open ? `by_open_${of}` : `by_${of}`
  return (kind === undefined ? ANOMALY_KINDS : [kind]).map((one) => ({
    index,
    fixed: { ...of_one, kind: one },
  }))
}

/** A payment has at most some dozens of anomalies, so the other filters need no index. */
function listOfPayment(
  anomalies: Pick<Collection<Anomaly>, 'find'>,
  { merchant_id, account_id, kind, is_open }: AnomalyFilter,
  payment_id: string,
  page: PageRequest,
): Promise<Page<Anomaly>> {
  return readPage<Anomaly>(
    {
      collection: anomalies,
      index: 'by_payment',
      range: { equals: [payment_id] },
      reverse: true,
      token_scope: { payment_id, filter: [is_open, kind, merchant_id, account_id].join(' ') },
      position: { created_at: 'instant', merchant_id: 'text', anomaly_id: 'text' },
      matches: (anomaly) =>
        (merchant_id === undefined || anomaly.merchant_id === merchant_id) &&
        (account_id === undefined || anomaly.account_id === account_id) &&
        (kind === undefined || anomaly.kind === kind) &&
        (!is_open || anomaly.open_since !== undefined),
    },
    page,
  )
}
