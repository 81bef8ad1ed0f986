import { sha256Hex } from '#lib/base/crypto/hash.ts'
import { ENVIRONMENTS, type Environment } from '#lib/contract/environment.ts'
import { PAYMENT_STATUSES, type PaymentStatus } from '#lib/contract/payment-status.ts'
import { readMergedPage, type Selection } from '#lib/patterns/paging/read-merged-page.ts'
import type { Page, PageRequest, Position } from '#lib/patterns/paging/read-page.ts'
import type { Collection } from '#lib/store/store.ts'
import type { KnownAccount } from '../domain/account-identity.ts'
import { isAdmitted, type Payment, type StoredPayment } from '../domain/payment.ts'
import { listAccountIds } from '../store/known-accounts.ts'

/** Which payments to list; without a field, all. An account goes with no merchant and no route. */
export interface PaymentFilter {
  readonly merchant_id?: string | undefined
  readonly environment?: Environment | undefined
  readonly service_id?: string | undefined
  /** The provider account of the current attempt. */
  readonly account_id?: string | undefined
  /** Empty for all. */
  readonly statuses: readonly PaymentStatus[]
  /** The inclusive lower bound. */
  readonly created_from?: Date
  /** The exclusive upper bound. */
  readonly created_to?: Date
}

/** What lists of payments are read from. */
export interface ListPaymentsDeps {
  readonly payments: Collection<StoredPayment>
  readonly known_accounts: Collection<KnownAccount>
}

/** Newest first, and payments of one millisecond by their key. */
const ORDER = { created_at: 'instant', merchant_id: 'text', c_id: 'text', environment: 'text' } as const

/**
 * Lists a page of payments, newest first: one range of an index per status and environment, and over all merchants also per
 * provider account, merged. Withdrawals that the ledger has
 * not admitted are left out (P3), and not completed first as by `findPayment`: a list must not wait while the ledger is
 * down. A payment whose status changes while the page is read can be missing from it.
 */
export async function listPayments(
  { payments, known_accounts }: ListPaymentsDeps,
  filter: PaymentFilter,
  page: PageRequest,
): Promise<Page<Payment>> {
  const { merchant_id, service_id, account_id } = filter
  const is_of_all = merchant_id === undefined && service_id === undefined && account_id === undefined
  const { created_from: from, created_to: to } = filter
  const list = {
    collection: payments,
    selections: selectionsOf(filter, is_of_all ? await listAccountIds(known_accounts) : []),
    bounds: { from, to },
    reverse: true,
    order: ORDER,
    key: {},
    token_scope: { list: sha256Hex(JSON.stringify(filter)).slice(0, 16) },
  }
  const { items, next_page_token } = await readMergedPage<StoredPayment>(list, page)
  // All payments of a route have its merchant and its environment: all of the page are in the scope, or none.
  const is_other = items.some((payment) => !isOfScope(payment, filter))
  return is_other ? { items: [], next_page_token: '' } : { items: items.filter(isAdmitted), next_page_token }
}

/** `all_accounts` are for a list of all merchants: each payment is at an account, and there are few. */
function selectionsOf(filter: PaymentFilter, all_accounts: readonly string[]): readonly Selection[] {
  const { merchant_id, service_id, account_id, statuses } = filter
  const selected = statuses.length === 0 ? PAYMENT_STATUSES.names : new Set(statuses)
  if (service_id !== undefined)
    return Array.from(selected, (status) => ({ index: 'by_route', fixed: { service_id, status } }))
  const environments = filter.environment === undefined ? ENVIRONMENTS.names : [filter.environment]
  const accounts = account_id === undefined ? all_accounts : [account_id]
  return environments.flatMap((environment) =>
    Array.from(selected).flatMap((status): readonly Selection[] => {
      const fixed = { environment, status }
      if (merchant_id !== undefined)
        return [
          {
            index: 'by_merchant_status',
            fixed: { merchant_id, ...fixed },
            placeAfter: (place) => ({ ...placeIn(environment, place), status }),
          },
        ]
      return accounts.map((account) => ({
        index: 'by_account',
        fixed: { account_id: account, ...fixed },
        placeAfter: (place) => ({
          ...placeIn(environment, place),
          attempt: { account_id: account },
          status,
        }),
      }))
    }),
  )
}

/** The place in the range of an environment that comes after a payment of either environment. */
function placeIn(environment: Environment, place: Position): Position {
  // Of two payments with everything else equal, the one of the lower environment comes last. No c_id has a control character.
  const c_id = environment < String(place['environment']) ? `${place['c_id']}\u0001` : String(place['c_id'])
  return { ...place, environment, c_id }
}

function isOfScope(payment: StoredPayment, { merchant_id, environment }: PaymentFilter): boolean {
  return (
    (merchant_id === undefined || payment.merchant_id === merchant_id) &&
    (environment === undefined || payment.environment === environment)
  )
}
