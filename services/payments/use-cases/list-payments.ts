import { ENVIRONMENTS, type Environment } from '#lib/contract/environment.ts'
import { PAYMENT_STATUSES, type PaymentStatus } from '#lib/contract/payment-status.ts'
import type { IndexedRange } from '#lib/patterns/paging/merge-ranges.ts'
import type { Page, PageRequest } from '#lib/patterns/paging/read-page.ts'
import type { Collection } from '#lib/store/store.ts'
import type { KnownAccount } from '../domain/account-identity.ts'
import { isAdmitted, type Payment, type StoredPayment } from '../domain/payment.ts'
import { listAccountIds } from '../store/known-accounts.ts'
import { readMergedPage } from './merged-page.ts'

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

const PLACE = { created_at: 'instant', merchant_id: 'text', c_id: 'text', environment: 'text' } as const

/** The place of a payment in every list: newest first, and payments of one millisecond by their key. */
interface Place {
  readonly created_at: Date
  readonly merchant_id: string
  readonly c_id: string
  readonly environment: string
}

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
  const selections = selectionsOf(filter, is_of_all ? await listAccountIds(known_accounts) : [])
  const list = {
    collection: payments,
    filter,
    place: PLACE,
    placeOf: ({ created_at, merchant_id, c_id, environment }: StoredPayment) => ({
      created_at,
      merchant_id,
      c_id,
      environment,
    }),
    sourcesAfter: (after: Place | undefined) => sourcesOf(selections, filter, after),
  }
  const { items, next_page_token } = await readMergedPage<StoredPayment, typeof PLACE>(list, page)
  // All payments of a route have its merchant and its environment: all of the page are in the scope, or none.
  const is_other = items.some((payment) => !isOfScope(payment, filter))
  return is_other ? { items: [], next_page_token: '' } : { items: items.filter(isAdmitted), next_page_token }
}

function sourcesOf(
  selections: readonly Selection[],
  { statuses, created_from: from, created_to: to, service_id }: PaymentFilter,
  after: Place | undefined,
): readonly IndexedRange[] {
  const selected = statuses.length === 0 ? PAYMENT_STATUSES.names : new Set(statuses)
  return selections.flatMap(({ index, equals, environment, account_id }) =>
    Array.from(selected, (status) => ({
      index,
      range: { equals: [...equals, status], from, to },
      after: after && { ...placeIn(environment, after), service_id, attempt: { account_id }, status },
    })),
  )
}

/** The beginning of the ranges of an index. */
interface Selection {
  readonly index: string
  readonly equals: readonly string[]
  /** Absent for a route, which has one. */
  readonly environment?: Environment
  readonly account_id?: string
}

/** `all_accounts` are for a list of all merchants: each payment is at an account, and there are few. */
function selectionsOf(filter: PaymentFilter, all_accounts: readonly string[]): readonly Selection[] {
  const { merchant_id, service_id, account_id } = filter
  if (service_id !== undefined) return [{ index: 'by_route', equals: [service_id] }]
  const environments = filter.environment === undefined ? ENVIRONMENTS.names : [filter.environment]
  if (merchant_id !== undefined)
    return environments.map((environment) => ({
      index: 'by_merchant_status',
      equals: [merchant_id, environment],
      environment,
    }))
  const accounts = account_id === undefined ? all_accounts : [account_id]
  return accounts.flatMap((account) =>
    environments.map((environment) => ({
      index: 'by_account',
      equals: [account, environment],
      environment,
      account_id: account,
    })),
  )
}

/** The place in the range of an environment that comes after a payment of either environment. */
function placeIn(environment: Environment | undefined, after: Place): Place {
  if (environment === undefined) return after
  // Of two payments with everything else equal, the one of the lower environment comes last. No c_id has a control character.
  const c_id = environment < after.environment ? `${after.c_id}\u0001` : after.c_id
  return { ...after, environment, c_id }
}

function isOfScope(payment: StoredPayment, { merchant_id, environment }: PaymentFilter): boolean {
  return (
    (merchant_id === undefined || payment.merchant_id === merchant_id) &&
    (environment === undefined || payment.environment === environment)
  )
}
