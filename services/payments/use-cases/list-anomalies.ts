import { readPage } from '#lib/patterns/paging/read-page.ts'
import type { Collection } from '#lib/store/store.ts'
import type { Anomaly, AnomalyKind } from '../domain/anomaly.ts'

/** Which anomalies to list; without a field, all. */
export interface AnomalyFilter {
  readonly merchant_id?: string
  readonly kind?: AnomalyKind
  /** Only those that wait for the operator. */
  readonly is_open: boolean
}

const POSITION = { merchant_id: 'text', anomaly_id: 'text' } as const

/**
 * Lists a page of anomalies, newest first. A page may have fewer anomalies than `page_size` although more follow: only an
 * empty `next_page_token` ends the list.
 */
export async function listAnomalies(
  anomalies: Collection<Anomaly>,
  filter: AnomalyFilter,
  page_size: number,
  page_token: string,
): Promise<{ anomalies: readonly Anomaly[]; next_page_token: string }> {
  const { merchant_id, kind, is_open } = filter
  const { items, next_page_token } = await readPage<Anomaly>(
    {
      collection: anomalies,
      index: is_open ? 'by_open' : 'by_created',
      range: {},
      reverse: true,
      token_scope: { filter: `${is_open} ${kind ?? ''} ${merchant_id ?? ''}` },
      position: is_open ? { open_since: 'instant', ...POSITION } : { created_at: 'instant', ...POSITION },
      matches: (anomaly) =>
        (merchant_id === undefined || anomaly.merchant_id === merchant_id) &&
        (kind === undefined || anomaly.kind === kind),
    },
    { page_size, page_token },
  )
  return { anomalies: items, next_page_token }
}
