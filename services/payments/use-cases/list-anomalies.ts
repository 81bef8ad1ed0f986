import { pageSize, pageToken, positionOf } from '#lib/patterns/paging/page-token.ts'
import type { Collection } from '#lib/platform/store/port.ts'
import type { Anomaly } from '../domain/anomaly.ts'

const POSITION = { created_at: 'instant', merchant_id: 'text', anomaly_id: 'text' } as const

/** Lists a page of the anomalies of all merchants, newest first. */
export async function listAnomalies(
  anomalies: Collection<Anomaly>,
  asked_size: number,
  token: string,
): Promise<{ anomalies: readonly Anomaly[]; next_page_token: string }> {
  const limit = pageSize(asked_size)
  const after = positionOf(token, {}, POSITION)
  const page = await anomalies.find('by_created', {}, { limit, reverse: true, ...(after ? { after } : {}) })
  const last = page.length === limit ? page.at(-1) : undefined
  if (!last) return { anomalies: page, next_page_token: '' }
  const { created_at, merchant_id, anomaly_id } = last
  return { anomalies: page, next_page_token: pageToken({ created_at, merchant_id, anomaly_id }) }
}
