import type { IndexSpec } from '#lib/store/store.ts'

const OWNER = ['merchant_id', 'environment'] as const

/**
 * The indexes of lists and summaries of a collection of refunds or chargebacks: one for each way in which a list can be
 * restricted, newest first, and those of one millisecond by the id in `id_field` (S6). A payment has few of them, so its list
 * needs no order.
 */
export function listIndexes(id_field: string): Readonly<Record<string, IndexSpec>> {
  const order = ['created_at', id_field]
  return {
    list: { fields: [...OWNER, ...order] },
    list_status: { fields: [...OWNER, 'status', ...order] },
    list_payment_c_id: { fields: [...OWNER, 'payment.c_id'] },
    list_payment_h_id: { fields: [...OWNER, 'payment.h_id'] },
    by_created: { fields: ['merchant_id', 'created_at'] },
    summary: { fields: [...OWNER, ...order, 'status'] },
  }
}
