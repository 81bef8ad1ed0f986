import type { Environment } from '#lib/contract/environment.ts'
import { PublicError } from '#lib/contract/errors/public-error.ts'
import type { PaymentStatus } from '#lib/contract/payment-status.ts'
import { readPage } from '#lib/patterns/paging/read-page.ts'
import type { Collection } from '#lib/store/store.ts'
import type { Anomaly, AnomalyKind } from '../domain/anomaly.ts'
import type { WithdrawalRefusal } from '../domain/hold-decision.ts'
import { isAdmitted, type Payment, type StoredPayment } from '../domain/payment.ts'
import { findByAnyId, keyOfPayment } from '../store/payments.ts'
import type { AdmissionDeps } from './await-change.ts'

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

const PAYMENT_POSITION = { created_at: 'instant', environment: 'text', c_id: 'text' } as const

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
      position: PAYMENT_POSITION,
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

const REFUSAL_POSITION = { payment_id: 'text' } as const

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
      position: REFUSAL_POSITION,
    },
    { page_size, page_token },
  )
  return { refusals: items, next_page_token }
}

/** Which anomalies to list; without a field, all. */
export interface AnomalyFilter {
  readonly merchant_id?: string
  readonly kind?: AnomalyKind
  /** Only those that wait for the operator. */
  readonly is_open: boolean
}

const ANOMALY_POSITION = { merchant_id: 'text', anomaly_id: 'text' } as const

/**
 * Lists a page of anomalies, newest first. A page may have fewer anomalies than `page_size` although more follow: only an
 * empty `next_page_token` ends the list.
 */
export async function listAnomalies(
  anomalies: Collection<Anomaly>,
  filter: AnomalyFilter,
  page_size: number,
  page_token: string,
): Promise<{ anomalies: readonly Anomaly[]; next_page_token: string }> {
  const { merchant_id, kind, is_open } = filter
  const { items, next_page_token } = await readPage<Anomaly>(
    {
      collection: anomalies,
      index: is_open ? 'by_open' : 'by_created',
      range: {},
      reverse: true,
      token_scope: { filter: `${is_open} ${kind ?? ''} ${merchant_id ?? ''}` },
      position: is_open
        ? { open_since: 'instant', ...ANOMALY_POSITION }
        : { created_at: 'instant', ...ANOMALY_POSITION },
      matches: (anomaly) =>
        (merchant_id === undefined || anomaly.merchant_id === merchant_id) &&
        (kind === undefined || anomaly.kind === kind),
    },
    { page_size, page_token },
  )
  return { anomalies: items, next_page_token }
}

/**
 * Runs a stuck effect again, that of a withdrawal which the ledger has not admitted too. Throws 6010 for an unknown
 * payment, and 8801 when it has no such stuck effect, also when another caller has retried it at the same time.
 */
export async function retryEffect(
  { payments, runner }: AdmissionDeps,
  payment_id: string,
  effect_id: string,
): Promise<StoredPayment> {
  const payment = await findByAnyId(payments, payment_id)
  if (!payment) throw new PublicError(6010)
  const retried = await runner.retry(keyOfPayment(payment), effect_id)
  if (!retried) throw new PublicError(8801)
  // A withdrawal that the ledger then refuses is deleted, and another payment may have its c_id by now.
  return retried.payment_id === payment.payment_id ? retried : payment
}
