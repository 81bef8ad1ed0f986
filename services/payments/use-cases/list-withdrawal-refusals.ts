import { readPage } from '#lib/patterns/paging/read-page.ts'
import type { Collection } from '#lib/store/store.ts'
import type { WithdrawalRefusal } from '../domain/hold-decision.ts'

const POSITION = { payment_id: 'text' } as const

/** Lists a page of a merchant's withdrawals that the ledger refused, newest first. */
export async function listWithdrawalRefusals(
  refusals: Collection<WithdrawalRefusal>,
  merchant_id: string,
  page_size: number,
  page_token: string,
): Promise<{ refusals: readonly WithdrawalRefusal[]; next_page_token: string }> {
  const { items, next_page_token } = await readPage<WithdrawalRefusal>(
    {
      collection: refusals,
      index: 'key',
      range: { equals: [merchant_id] },
      reverse: true,
      token_scope: { merchant_id },
      position: POSITION,
    },
    { page_size, page_token },
  )
  return { refusals: items, next_page_token }
}
