import { readPage } from '#lib/patterns/paging/read-page.ts'
import type { Collection } from '#lib/platform/store/store.ts'
import type { Anomaly } from '../domain/anomaly.ts'

const POSITION = { created_at: 'instant', merchant_id: 'text', anomaly_id: 'text' } as const

/** Lists a page of the anomalies of all merchants, newest first. */
export async function listAnomalies(
  anomalies: Collection<Anomaly>,
  page_size: number,
  page_token: string,
): Promise<{ anomalies: readonly Anomaly[]; next_page_token: string }> {
  const { items, next_page_token } = await readPage<Anomaly>(
    {
      collection: anomalies,
      index: 'by_created',
      range: {},
      reverse: true,
      token_scope: {},
      position: POSITION,
    },
    { page_size, page_token },
  )
  return { anomalies: items, next_page_token }
}
