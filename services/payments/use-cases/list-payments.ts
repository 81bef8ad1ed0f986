import type { Environment } from '#lib/contract/environment.ts'
import { pageSize, pageToken, positionOf } from '#lib/patterns/paging/page-token.ts'
import type { Collection } from '#lib/platform/store/port.ts'
import type { Payment, PaymentStatus } from '../domain/payment.ts'

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

/** The number of payments that one page reads at most, so that a rare status cannot make a request long. */
const READ_MAX = 2_000
const READ_SIZE = 200
const POSITION = { created_at: 'instant', environment: 'text', c_id: 'text' } as const

/**
 * Lists a page of a merchant's payments, newest first. A page may have fewer payments than `asked_size` although more
 * follow: only an empty `next_page_token` ends the list.
 */
export async function listPayments(
  payments: Collection<Payment>,
  filter: PaymentFilter,
  asked_size: number,
  token: string,
): Promise<{ payments: readonly Payment[]; next_page_token: string }> {
  const size = pageSize(asked_size)
  const { merchant_id, created_from, created_to } = filter
  const range = {
    equals: [merchant_id],
    ...(created_from ? { from: created_from } : {}),
    ...(created_to ? { to: created_to } : {}),
  }
  const matching: Payment[] = []
  let after = positionOf(token, { merchant_id }, POSITION)
  for (let read = 0; read < READ_MAX; read += READ_SIZE) {
    const page = await payments.find('by_created', range, {
      limit: READ_SIZE,
      reverse: true,
      ...(after ? { after } : {}),
    })
    for (const payment of page) {
      const { created_at, c_id } = payment
      after = { merchant_id, environment: payment.environment, created_at, c_id }
      if (matches(payment, filter)) matching.push(payment)
      if (matching.length === size) return { payments: matching, next_page_token: pageToken(after) }
    }
    if (page.length < READ_SIZE) return { payments: matching, next_page_token: '' }
  }
  return { payments: matching, next_page_token: after ? pageToken(after) : '' }
}

function matches(payment: Payment, { environment, statuses }: PaymentFilter): boolean {
  const is_of_environment = environment === undefined || payment.environment === environment
  return is_of_environment && (statuses.length === 0 || statuses.includes(payment.status))
}
