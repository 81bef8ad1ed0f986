import { type Page, type PageRequest, readPage } from '#lib/patterns/paging/read-page.ts'
import type { Collection } from '#lib/store/store.ts'
import type { WithdrawalRefusal } from '../domain/hold-decision.ts'

/**
 * Lists a page of the withdrawals that the ledger refused, newest first, of one merchant or of all. A `payment_id` is ordered by
 * time.
 */
export function listWithdrawalRefusals(
  refusals: Pick<Collection<WithdrawalRefusal>, 'find'>,
  merchant_id: string | undefined,
  page: PageRequest,
): Promise<Page<WithdrawalRefusal>> {
  const of_one = {
    index: 'key',
    range: { equals: [merchant_id ?? ''] },
    token_scope: { merchant_id: merchant_id ?? '' },
  }
  const of_all = { index: 'by_payment', range: {}, token_scope: { list: 'all' } }
  return readPage<WithdrawalRefusal>(
    {
      collection: refusals,
      ...(merchant_id === undefined
        ? { ...of_all, position: { payment_id: 'text', merchant_id: 'text' } }
        : { ...of_one, position: { payment_id: 'text' } }),
      reverse: true,
    },
    page,
  )
}
