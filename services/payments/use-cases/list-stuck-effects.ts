import type { Effect } from '#lib/patterns/effects/effect.ts'
import { pageSize, pageToken, positionOf } from '#lib/patterns/paging/page-token.ts'
import type { Collection } from '#lib/platform/store/port.ts'
import type { Payment } from '../domain/payment.ts'

/** A stuck effect with the payment that it belongs to. */
export interface StuckEffect {
  readonly payment: Payment
  readonly effect: Effect
}

const POSITION = {
  stuck_at: 'instant',
  merchant_id: 'text',
  environment: 'text',
  c_id: 'text',
} as const

/** Lists stuck effects, the longest stuck first. `asked_size` counts payments, each of which may have several. */
export async function listStuckEffects(
  payments: Collection<Payment>,
  asked_size: number,
  token: string,
): Promise<{ stuck: readonly StuckEffect[]; next_page_token: string }> {
  const limit = pageSize(asked_size)
  const after = positionOf(token, {}, POSITION)
  const page = await payments.find('by_stuck', {}, { limit, ...(after ? { after } : {}) })
  const stuck = page.flatMap((payment) =>
    payment.effects.filter((effect) => effect.stuck).map((effect) => ({ payment, effect })),
  )
  const last = page.length === limit ? page.at(-1) : undefined
  if (!last?.stuck_at) return { stuck, next_page_token: '' }
  const { stuck_at, merchant_id, environment, c_id } = last
  return { stuck, next_page_token: pageToken({ stuck_at, merchant_id, environment, c_id }) }
}
