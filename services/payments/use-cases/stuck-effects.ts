import { PublicError } from '#lib/contract/errors/public-error.ts'
import type { Effect } from '#lib/patterns/effects/effect.ts'
import type { EffectRunner } from '#lib/patterns/effects/runner.ts'
import { pageSize, pageToken, positionOf } from '#lib/patterns/paging/page-token.ts'
import type { Collection } from '#lib/platform/store/port.ts'
import type { Payment } from '../domain/payment.ts'
import { keyOfPayment } from '../store/payments-store.ts'
import { getPayment } from './look-up.ts'

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

/** What waits for the operator, longest first, by pages of payments. */
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

/** Tries a stuck effect again; 6010 for an unknown payment, 8801 when the payment has no such stuck effect. */
export async function retryEffect(
  payments: Collection<Payment>,
  runner: EffectRunner<Payment>,
  payment_id: string,
  effect_id: string,
): Promise<Payment> {
  const payment = await getPayment(payments, payment_id)
  if (!payment.effects.some(({ id, stuck }) => id === effect_id && stuck)) throw new PublicError(8801)
  const retried = await runner.retry(keyOfPayment(payment), effect_id)
  if (!retried) throw new PublicError(6010)
  return retried
}
