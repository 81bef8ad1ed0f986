import { isPaidStatus } from '../workload/observe.ts'
import { openedBody } from '../world/master-keys.ts'
import type { ProviderOperation } from '../world/provider/operation.ts'
import { storedEvents } from './callbacks.ts'
import {
  documentsOf,
  type Evidence,
  type Invariant,
  paymentsOf,
  type StoredChargeback,
  type StoredPayment,
  type StoredRefund,
} from './judge.ts'
import { entriesOf, type JournalEntry, ownerOf } from './ledger.ts'

/** The fields of a refund or a chargeback of the support service that the invariants read. */
interface SupportDocument {
  readonly refund_id?: string
  readonly chargeback_id?: string
  readonly payment: { readonly payment_id: string; readonly c_id: string; readonly h_id: string }
  readonly amount: bigint
  readonly currency: string
  readonly status: string
  readonly change_number?: number
  readonly history?: readonly { readonly status: string }[]
}

/** The states in which a refund may stay. `pending` waits for the operator. */
const RESTING = ['pending', 'rejected', 'canceled', 'completed', 'failed']

/** The states of a refund without an approval. A restore may have forgotten the approval, and what the provider did then. */
const UNDECIDED = ['pending', 'rejected', 'canceled']

/** What each status of a chargeback may become (S10). */
const NEXT: Readonly<Record<string, readonly string[]>> = {
  open: ['under_review', 'won', 'lost', 'accepted'],
  under_review: ['won', 'lost', 'accepted'],
}

/**
 * Each refund has ended or waits for the operator. Its payment, the document that merchants see, the ledger and the
 * provider's books agree about it, and no refund is paid twice.
 */
export const refundsAgree: Invariant = function* (evidence) {
  const documents = new Map(supportDocuments(evidence, 'refunds').map((one) => [one.refund_id ?? '', one]))
  const operations = Map.groupBy(
    evidence.operations.filter(({ kind }) => kind === 'refund'),
    ({ idempotency_key }) => idempotency_key,
  )
  const entries_of = Map.groupBy(entriesOf(evidence), ownerOf)
  for (const payment of paymentsOf(evidence)) {
    yield* statusProblems(payment)
    for (const refund of payment.refunds ?? []) {
      const { refund_id, state, change_number } = refund
      const key = `${payment.payment_id}:refund:${refund_id}`
      if (!RESTING.includes(state)) yield `the refund ${refund_id} is still ${state}`
      yield* documentProblems(payment, refund, documents.get(refund_id), { status: state, change_number })
      // A restored payment may have forgotten the refused approvals of a refund that needs no further one.
      const is_whole = evidence.lost === undefined || (state !== 'rejected' && state !== 'canceled')
      const entries = (entries_of.get(refund_id) ?? []).filter((entry) => is_whole || !entry.refused_code)
      const expected = entriesOfRefund(is_whole ? refund : withoutRefusals(refund))
      yield* entryProblems(payment, refund, entries, expected)
      const is_forgotten = evidence.lost !== undefined && UNDECIDED.includes(state)
      yield* bookProblems(payment, refund, operations.get(key) ?? [], is_forgotten)
      documents.delete(refund_id)
      operations.delete(key)
    }
  }
  for (const [refund_id, { payment }] of documents)
    if (!evidence.lost?.has(payment.payment_id)) yield `no payment has the refund ${refund_id}`
  for (const key of operations.keys())
    if (!key.split(':').some((id) => evidence.lost?.has(id)))
      yield `the provider has the refund ${key}, which no payment has`
}

/**
 * Each refund was asked for at the account that the deposit was paid at, under the key of that deposit (S9). A provider
 * would refuse any other one, which looks like a refund that failed.
 */
export const refundsGoToPaidAccounts: Invariant = function* ({ operations, refund_orders = [] }) {
  const paid = new Set(
    operations
      .filter(({ kind, status }) => kind === 'deposit' && status === 'success')
      .map(({ account_id, idempotency_key }) => `${account_id} ${idempotency_key}`),
  )
  for (const { idempotency_key, account_id, deposit_idempotency_key } of refund_orders)
    if (!paid.has(`${account_id} ${deposit_idempotency_key}`))
      yield `the refund ${idempotency_key} went to ${account_id}, where ${deposit_idempotency_key} was not paid`
}

/** The fields of the body of a `payment.refunded` that the invariant reads. */
interface RefundedBody {
  readonly data: {
    readonly result: {
      readonly payment: {
        readonly identifiers: { readonly h_id: string }
        readonly status: {
          readonly history: readonly {
            readonly status: string
            readonly amount: { readonly value: number }
          }[]
        }
        readonly operations: readonly {
          readonly operation_type: string
          readonly status: { readonly status: string }
        }[]
      }
    }
  }
}

/** The event of a refund shows the payment from its beginning up to that refund, with all refunds that were completed by then (P10). */
export const refundEventsAreWhole: Invariant = function* (evidence) {
  const payments = new Map(paymentsOf(evidence).map((payment) => [payment.h_id, payment]))
  for (const stored_event of storedEvents(evidence)) {
    const { event, event_key } = stored_event
    if (event !== 'payment.refunded') continue
    const parsed = JSON.parse(openedBody(stored_event)) as RefundedBody
    const { identifiers, status, operations } = parsed.data.result.payment
    const stored = payments.get(identifiers.h_id)?.history ?? []
    const shown = status.history.map((entry) => `${entry.status} ${entry.amount.value}`)
    const begun = stored.slice(0, shown.length).map((entry) => `${entry.status} ${entry.amount}`)
    if (shown.join() !== begun.join()) yield `${event_key} shows the history ${shown}, which was ${begun}`
    const completed = operations.filter(
      (one) => one.operation_type === 'refund' && one.status.status === 'success',
    )
    const refunds = status.history.filter((entry) => entry.status.endsWith('refunded'))
    if (completed.length !== refunds.length)
      yield `${event_key} shows ${completed.length} completed refunds and ${refunds.length} in its history`
  }
}

/** Each chargeback was debited once, and credited back once if it was won; merchants see what its payment knows. */
export const chargebacksAgree: Invariant = function* (evidence) {
  const documents = new Map(
    supportDocuments(evidence, 'chargebacks').map((one) => [one.chargeback_id ?? '', one]),
  )
  const entries_of = Map.groupBy(entriesOf(evidence), ownerOf)
  for (const payment of paymentsOf(evidence)) {
    for (const chargeback of payment.chargebacks ?? []) {
      const { chargeback_id, is_won } = chargeback
      const document = documents.get(chargeback_id)
      documents.delete(chargeback_id)
      yield* documentProblems(payment, chargeback, document, {})
      const statuses = document?.history?.map(({ status }) => status) ?? []
      const is_right =
        statuses[0] === 'open' &&
        statuses.at(-1) === document?.status &&
        statuses.slice(1).every((status, index) => NEXT[statuses[index] ?? '']?.includes(status))
      if (!is_right) yield `the chargeback ${chargeback_id} had the statuses ${statuses}`
      if (is_won !== statuses.includes('won'))
        yield `the chargeback ${chargeback_id} is ${document?.status}, and its payment says won ${is_won}`
      const entries = entries_of.get(chargeback_id) ?? []
      const debit = 'transfer available to chargebacks'
      const credit = 'transfer chargebacks to available'
      yield* entryProblems(payment, chargeback, entries, is_won ? [debit, credit] : [debit])
    }
  }
  for (const [chargeback_id, { payment }] of documents)
    if (!evidence.lost?.has(payment.payment_id)) yield `no payment has the chargeback ${chargeback_id}`
}

/** The hold of a refund is refused when its merchant's funds do not suffice, and only then (S9). */
export const refundHoldsFollowFunds: Invariant = function* (evidence) {
  const refund_ids = new Set(
    paymentsOf(evidence).flatMap(({ refunds = [] }) => refunds.map(({ refund_id }) => refund_id)),
  )
  const funds = new Map<string, bigint>()
  for (const entry of entriesOf(evidence)) {
    const account = `${entry.merchant_id} ${entry.currency}`
    const available = funds.get(account) ?? 0n
    funds.set(account, entry.available)
    if (entry.kind !== 'hold' || !refund_ids.has(ownerOf(entry))) continue
    if ((entry.refused_code === undefined) !== available >= entry.amount)
      yield `the hold ${entry.id} of ${entry.amount} was decided with ${entry.refused_code ?? 0}, available were ${available}`
  }
}

/**
 * Each entry of a payment belongs to itself, to one of its refunds, or to one of its chargebacks. A refund that was lost in a restore
 * may have holds that were refused, which moved nothing.
 */
export const entriesHaveOwners: Invariant = function* (evidence) {
  const owners = new Map<string, string>()
  for (const { payment_id, refunds = [], chargebacks = [] } of paymentsOf(evidence)) {
    for (const { refund_id } of refunds) owners.set(refund_id, payment_id)
    for (const { chargeback_id } of chargebacks) owners.set(chargeback_id, payment_id)
  }
  for (const entry of entriesOf(evidence)) {
    const { id, payment_id } = entry
    const owner = ownerOf(entry)
    if (payment_id !== undefined && evidence.lost?.has(payment_id)) continue
    if (entry.refused_code !== undefined && evidence.lost?.has(owner)) continue
    if (payment_id !== undefined && owner !== payment_id && owners.get(owner) !== payment_id)
      yield `the entry ${id} of ${payment_id} belongs to no refund or chargeback of it`
  }
}

function supportDocuments({ databases }: Evidence, collection: string): readonly SupportDocument[] {
  return documentsOf<SupportDocument>(databases, 'support', collection)
}

/** The status of a payment and its history follow from its completed refunds (P6). */
function* statusProblems({
  payment_id,
  status,
  amount,
  refunds = [],
  history,
}: StoredPayment): Iterable<string> {
  const completed = refunds.filter(({ state }) => state === 'completed').map((refund) => refund.amount)
  const refunded = completed.reduce((sum, part) => sum + part, 0n)
  const expected = refunded === 0n ? 'success' : refunded === amount ? 'refunded' : 'partially_refunded'
  const is_refunded = status === 'refunded' || status === 'partially_refunded'
  if ((refunded > 0n || is_refunded) && status !== expected)
    yield `${payment_id} over ${amount} is ${status}, and ${refunded} were refunded`
  const shown = history.filter(({ status: had }) => had !== 'success' && isPaidStatus(had))
  if (String(shown.map((entry) => entry.amount).toSorted()) !== String(completed.toSorted()))
    yield `${payment_id} has the refunds ${completed}, and its history ${shown.map((entry) => entry.amount)}`
}

function* documentProblems(
  { payment_id, c_id, h_id, currency }: StoredPayment,
  { amount, ...ids }: StoredRefund | StoredChargeback,
  document: SupportDocument | undefined,
  expected: Partial<SupportDocument>,
): Iterable<string> {
  const id = 'refund_id' in ids ? `the refund ${ids.refund_id}` : `the chargeback ${ids.chargeback_id}`
  if (document === undefined) return yield `${id} of ${payment_id} has no document for its merchant`
  const is_same =
    document.payment.payment_id === payment_id &&
    document.payment.c_id === c_id &&
    document.payment.h_id === h_id &&
    document.amount === amount &&
    document.currency === currency
  if (!is_same) yield `${id} of ${payment_id} is shown to its merchant with other contents`
  const { status = document.status, change_number = document.change_number } = expected
  if (document.status !== status || document.change_number !== change_number)
    yield `${id} is ${status} by its change ${change_number}, and is shown as ${document.status} by ${document.change_number}`
}

const HOLD = 'hold available to held'

/** How the hold of a refund ends. */
const ENDS: Readonly<Record<string, string>> = {
  completed: 'capture held to clearing',
  failed: 'release held to available',
}

/** The entries of a refund: a hold for each approval; only the last hold can be accepted, and how it ended. */
function entriesOfRefund({ state, holds, approved_at }: StoredRefund): readonly string[] {
  const refusals = holds - (approved_at === undefined ? 0 : 1)
  const refused = Array.from({ length: refusals }, () => `${HOLD} 6004`)
  const end = ENDS[state]
  return [...refused, ...(approved_at === undefined ? [] : [HOLD]), ...(end === undefined ? [] : [end])]
}

function withoutRefusals(refund: StoredRefund): StoredRefund {
  return { ...refund, holds: refund.approved_at === undefined ? 0 : 1 }
}

function* entryProblems(
  { merchant_id, currency }: StoredPayment,
  { amount, ...ids }: StoredRefund | StoredChargeback,
  entries: readonly JournalEntry[],
  expected: readonly string[],
): Iterable<string> {
  const id = 'refund_id' in ids ? ids.refund_id : ids.chargeback_id
  const found = entries.map(({ kind, debit, credit, refused_code }) =>
    [kind, debit, 'to', credit, ...(refused_code === undefined ? [] : [refused_code])].join(' '),
  )
  if (String(found) !== String(expected)) yield `${id} has the entries ${found}, not ${expected}`
  for (const entry of entries) {
    if (entry.amount !== amount || entry.currency !== currency || entry.merchant_id !== merchant_id)
      yield `${id} over ${amount} ${currency} has the entry ${entry.id} over ${entry.amount} ${entry.currency}`
  }
}

/** What the provider has paid back is what was completed, once, and nothing else. */
function* bookProblems(
  { payment_id, currency }: StoredPayment,
  { refund_id, state, amount }: StoredRefund,
  operations: readonly ProviderOperation[],
  is_forgotten: boolean,
): Iterable<string> {
  const paid = operations.filter(({ status }) => status === 'success')
  if (paid.length > 1) yield `the refund ${refund_id} of ${payment_id} was paid ${paid.length} times`
  if ((state === 'completed') !== paid.length > 0 && !is_forgotten)
    yield `the refund ${refund_id} of ${payment_id} is ${state}, and was paid ${paid.length} times`
  for (const operation of operations) {
    if (BigInt(operation.amount) !== amount || operation.currency !== currency)
      yield `the refund ${refund_id} over ${amount} ${currency} is ${operation.amount} ${operation.currency} at its provider`
  }
}
