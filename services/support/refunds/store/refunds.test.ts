import { expect, test } from '@jest/globals'
import type { Collection } from '#lib/store/store.ts'
import type { Refund } from '../domain/refund.ts'
import { findRefundBy } from './refunds.ts'

/** A store during a fail-over: a former primary answers all reads but linearizable ones, and knows no document. */
const failing_over = {
  get: async (_key: object, options?: { readonly linearizable?: boolean }) =>
    options?.linearizable ? { refund_id: 'r' } : undefined,
  find: async (_index: string, _range: object, options?: { readonly linearizable?: boolean }) =>
    options?.linearizable ? [{ refund_id: 'r' }] : [],
} as unknown as Collection<Refund>

test.each(['c_id', 'h_id'] as const)(
  'a refund is found by its %s also while the database fails over',
  async (by) => {
    const query = { merchant_id: '7001', environment: 'production', by, id: 'r' } as const
    expect(await findRefundBy(failing_over, query)).toEqual({ refund_id: 'r' })
  },
)
