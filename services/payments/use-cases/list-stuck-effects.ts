import type { Effect } from '#lib/patterns/effects/effect.ts'
import { readPage } from '#lib/patterns/paging/read-page.ts'
import type { Collection } from '#lib/platform/store/store.ts'
import type { StoredPayment } from '../domain/payment.ts'

/** A stuck effect with the payment that it belongs to. */
export interface StuckEffect {
  readonly payment: StoredPayment
  readonly effect: Effect
}

const POSITION = {
  stuck_at: 'instant',
  merchant_id: 'text',
  environment: 'text',
  c_id: 'text',
} as const

/** Lists stuck effects, the longest stuck first. `page_size` counts payments, each of which may have several. */
export async function listStuckEffects(
  payments: Collection<StoredPayment>,
  page_size: number,
  page_token: string,
): Promise<{ stuck: readonly StuckEffect[]; next_page_token: string }> {
  const { items, next_page_token } = await readPage<StoredPayment>(
    { collection: payments, index: 'by_stuck', range: {}, token_scope: {}, position: POSITION },
    { page_size, page_token },
  )
  const stuck = items.flatMap((payment) =>
    payment.effects.filter((effect) => effect.stuck).map((effect) => ({ payment, effect })),
  )
  return { stuck, next_page_token }
}
