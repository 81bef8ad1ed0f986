import type { Environment } from '#lib/contract/environment.ts'
import type { PaymentStatus } from '#lib/contract/payment-status.ts'
import { readPage } from '#lib/patterns/paging/read-page.ts'
import type { Collection } from '#lib/store/store.ts'
import { isAdmitted, type Payment, type StoredPayment } from '../domain/payment.ts'

/** Which payments of a merchant to list. Without an environment both are listed; without statuses, all. */
export interface PaymentFilter {
  readonly merchant_id: string
  readonly environment?: Environment
  readonly statuses: readonly PaymentStatus[]
  /** The inclusive lower bound. */
  readonly created_from?: Date
  /** The exclusive upper bound. */
  readonly created_to?: Date
}

const POSITION = { created_at: 'instant', environment: 'text', c_id: 'text' } as const

/**
 * Lists a page of a merchant's payments, newest first, for the operator. Withdrawals that the ledger has not admitted are left
 * out (P3), and not completed first as by `findPayment`: a list must not wait while the ledger is down. A page may have fewer
 * payments than `page_size` although more follow: only an empty `next_page_token` ends the list.
 */
export async function listPayments(
  payments: Collection<StoredPayment>,
  filter: PaymentFilter,
  page_size: number,
  page_token: string,
): Promise<{ payments: readonly Payment[]; next_page_token: string }> {
  const { merchant_id, created_from, created_to } = filter
  const { items, next_page_token } = await readPage<StoredPayment>(
    {
      collection: payments,
      index: 'by_created',
      range: {
        equals: [merchant_id],
        ...(created_from ? { from: created_from } : {}),
        ...(created_to ? { to: created_to } : {}),
      },
      reverse: true,
      token_scope: { merchant_id },
      position: POSITION,
      matches: (payment) => isAdmitted(payment) && matches(payment, filter),
    },
    { page_size, page_token },
  )
  return { payments: items.filter(isAdmitted), next_page_token }
}

function matches(payment: Payment, { environment, statuses }: PaymentFilter): boolean {
  const is_of_environment = environment === undefined || payment.environment === environment
  return is_of_environment && (statuses.length === 0 || statuses.includes(payment.status))
}
