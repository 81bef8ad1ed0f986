import type { Environment } from '#lib/contract/environment.ts'
import type { PaymentStatus } from '#lib/contract/payment-status.ts'
import { type Page, type PageRequest, readPage } from '#lib/patterns/paging/read-page.ts'
import type { Collection } from '#lib/store/store.ts'
import type { Anomaly, AnomalyKind } from '../domain/anomaly.ts'
import type { WithdrawalRefusal } from '../domain/hold-decision.ts'
import { isAdmitted, type Payment, type StoredPayment } from '../domain/payment.ts'

/*
 * The lists of the operator, newest first. A page may have fewer items than `page_size` although more follow: only an empty
 * `next_page_token` ends a list.
 */

/** Which payments of a merchant to list. Without an environment both are listed; without statuses, all. */
export interface PaymentFilter {
  readonly merchant_id: string
  readonly environment?: Environment | undefined
  readonly statuses: readonly PaymentStatus[]
  /** The inclusive lower bound. */
  readonly created_from?: Date
  /** The exclusive upper bound. */
  readonly created_to?: Date
}

/**
 * Lists a page of a merchant's payments. Withdrawals that the ledger has not admitted are left out (P3), and not completed
 * first as by `findPayment`: a list must not wait while the ledger is down.
 */
export async function listPayments(
  payments: Collection<StoredPayment>,
  { merchant_id, environment, statuses, created_from: from, created_to: to }: PaymentFilter,
  page: PageRequest,
): Promise<Page<Payment>> {
  const isListed = (payment: StoredPayment): boolean =>
    isAdmitted(payment) &&
    (environment === undefined || payment.environment === environment) &&
    (statuses.length === 0 || statuses.includes(payment.status))
  const { items, next_page_token } = await readPage<StoredPayment>(
    {
      collection: payments,
      index: 'by_created',
      range: { equals: [merchant_id], ...(from && { from }), ...(to && { to }) },
      reverse: true,
      token_scope: { merchant_id },
      position: { created_at: 'instant', environment: 'text', c_id: 'text' },
      matches: isListed,
    },
    page,
  )
  return { items: items.filter(isAdmitted), next_page_token }
}

/** Lists a page of a merchant's withdrawals that the ledger refused. */
export function listWithdrawalRefusals(
  refusals: Collection<WithdrawalRefusal>,
  merchant_id: string,
  page: PageRequest,
): Promise<Page<WithdrawalRefusal>> {
  return readPage<WithdrawalRefusal>(
    {
      collection: refusals,
      index: 'key',
      range: { equals: [merchant_id] },
      reverse: true,
      token_scope: { merchant_id },
      position: { payment_id: 'text' },
    },
    page,
  )
}

/** Which anomalies to list; without a field, all. */
export interface AnomalyFilter {
  readonly merchant_id?: string | undefined
  readonly kind?: AnomalyKind | undefined
  /** Only those that wait for the operator. */
  readonly is_open: boolean
}

/** Lists a page of the anomalies of all merchants. */
export function listAnomalies(
  anomalies: Collection<Anomaly>,
  { merchant_id, kind, is_open }: AnomalyFilter,
  page: PageRequest,
): Promise<Page<Anomaly>> {
  return readPage<Anomaly>(
    {
      collection: anomalies,
      index: is_open ? 'by_open' : 'by_created',
      range: {},
      reverse: true,
      token_scope: { filter: `${is_open} ${kind ?? ''} ${merchant_id ?? ''}` },
      position: {
        [is_open ? 'open_since' : 'created_at']: 'instant',
        merchant_id: 'text',
        anomaly_id: 'text',
      },
      matches: (anomaly) =>
        (merchant_id === undefined || anomaly.merchant_id === merchant_id) &&
        (kind === undefined || anomaly.kind === kind),
    },
    page,
  )
}
