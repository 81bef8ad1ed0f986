import type { RefundStatus } from '#lib/contract/public-support.ts'
import type { PageRequest } from '#lib/patterns/paging/read-page.ts'
import type { Stored } from '#lib/store/store.ts'
import {
  type CursorPage,
  type CursorRequest,
  listForOperator,
  listResources,
  type OperatorFilter,
  type ResourceFilter,
} from '../../use-cases/list-resources.ts'
import type { Refund } from '../domain/refund.ts'
import type { RefundCommentDeps } from './comment-refund.ts'

const KEY = { key_field: 'c_id', id_field: 'refund_id', idOf: ({ refund_id }: Refund) => refund_id }

/**
 * The merchant's `refund.list`: newest first (S6). Throws 9000 for a limit outside 1 to 100, and for a cursor of another
 * list.
 */
export function listRefunds(
  { refunds: collection, keyring }: Pick<RefundCommentDeps, 'refunds' | 'keyring'>,
  filter: ResourceFilter<RefundStatus>,
  page: CursorRequest,
): Promise<CursorPage<Stored<Refund>>> {
  return listResources({ name: 'refund.list', collection, keyring, ...KEY }, filter, page)
}

/** The operator's list of a merchant's refunds, newest first. */
export function listRefundsForOperator(
  { refunds: collection }: Pick<RefundCommentDeps, 'refunds'>,
  filter: OperatorFilter,
  page: PageRequest,
): Promise<{ readonly items: readonly Stored<Refund>[]; readonly next_page_token: string }> {
  return listForOperator({ collection, ...KEY }, filter, page)
}
