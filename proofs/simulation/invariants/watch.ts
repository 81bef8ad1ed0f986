import { keyText } from '#lib/store/layout.ts'
import type { WireRequest } from '../parts/http/serve-in-memory.ts'
import type { Actor } from '../parts/simulated-process.ts'
import type { Database } from '../parts/store/database.ts'
import type { Change } from '../parts/store/memory-collection.ts'
import { forgetEnded, type History, type PaymentRecord, recordKey } from '../workload/history.ts'
import { isPaidStatus, mayBecome, observePayment } from '../workload/observe.ts'
import { keyOfCreate, keysOfLookup, type RefundOrder, refundOrderOf } from '../world/provider/requests.ts'
import { createAccountWatch } from './account-watch.ts'
import { createActWatch } from './act-watch.ts'
import { createDeliveryWatch } from './deliveries.ts'
import { createEndWatch, type EndWatch } from './end-watch.ts'
import { createExpiryWatch } from './expiry-watch.ts'
import { createFileWatch } from './file-watch.ts'
import type { Evidence, StoredPayment } from './judge.ts'
import { createLeaseWatch } from './leases.ts'
import { hasEntryOf, type JournalEntry, ownerOf } from './ledger.ts'
import { publishedPersonProblems, storedPersonProblems } from './person-watch.ts'
import { refundProblems } from './refund-watch.ts'
import { shownRefundProblems, supportCallbackProblems } from './support-callbacks.ts'
import { createWholeWatch, isSameContent } from './whole-watch.ts'

/** The invariants that hold at every moment. */
export interface Watch extends Pick<EndWatch, 'overdue'> {
  readonly problems: readonly string[]
  /** The refunds that processes have asked providers for. */
  readonly refund_orders: readonly RefundOrder[]
  /** The databases with what the retention deleted, and with whole documents in the place of archived ones. */
  withEnded(databases: Evidence['databases']): Evidence['databases']
  /** Judges a change of a document within the command that makes it. */
  onChange(database: string, collection: string, change: Change, writer: Actor | undefined): void
  /** Judges a request that a process sends to an origin. */
  onRequest(request: WireRequest, sender: Actor, origin: string): void
  /** Judges a callback when it arrives at its receiver. */
  onCallback(body: string): void
  /** Judges a message that a process publishes on the bus. */
  onMessage(subject: string, data: Uint8Array): void
}

/** The part of a public operation that the invariants read. */
interface ShownOperation {
  readonly id: string
  readonly operation_type: string
  readonly status: { readonly status: string }
}

/** What never changes once it is written. */
const PERMANENT = ['balances.journal', 'notifier.events', 'backoffice.audit']

/** The fields of a payment that never change. */
const FIXED = [
  'direction',
  'merchant_id',
  'environment',
  'c_id',
  'payment_id',
  'h_id',
  'amount',
  'currency',
  'service_id',
] as const

/** A watch that can begin again with what a restored system has stored. */
export interface RenewableWatch extends Watch {
  /** Hears each change of a document, within the command that makes it. */
  listener: ((database: string, collection: string, change: Change) => void) | undefined
  /** Judges no change until `renew`. */
  mute(): void
  /** Judges the changes from now on, of these databases. What processes have sent before the restore is known. */
  renew(databases: ReadonlyMap<string, Pick<Database, 'collections'>>): void
}

/** Makes the watch of one simulation. */
export function createRenewableWatch(history: History): RenewableWatch {
  const sent: SentCreates = { keys: new Set(), origins: new Map(), refund_orders: [] }
  const before_restore: string[] = []
  let watch = createWatch(history, sent)
  let is_muted = false
  const renewable: RenewableWatch = {
    get problems() {
      return [...before_restore, ...watch.problems]
    },
    refund_orders: sent.refund_orders,
    overdue: (now_ms) => watch.overdue(now_ms),
    withEnded: (databases) => watch.withEnded(databases),
    listener: undefined,
    onChange(...change) {
      if (!is_muted) watch.onChange(...change)
      const [database, collection, changed] = change
      renewable.listener?.(database, collection, changed)
    },
    onRequest: (...request) => watch.onRequest(...request),
    onCallback: (body) => watch.onCallback(body),
    onMessage: (...message) => watch.onMessage(...message),
    mute() {
      is_muted = true
    },
    renew(databases) {
      before_restore.push(...watch.problems)
      history.acts.clear()
      history.forgotten_acts.clear()
      const renewed = createWatch(history, sent, true)
      for (const [role, database] of databases)
        for (const { layout, all } of database.collections())
          for (const after of all())
            renewed.onChange(
              role,
              layout.name,
              { key: keyText(layout, after), before: undefined, after },
              undefined,
            )
      // What a watch says about a document that begins in the middle of its life.
      renewed.problems.length = 0
      watch = renewed
      is_muted = false
    },
  }
  return renewable
}

/** The creates that processes have sent to providers, also before a restore. */
interface SentCreates {
  readonly keys: Set<string>
  readonly origins: Map<string, string>
  readonly refund_orders: RefundOrder[]
}

function createWatch(
  history: History,
  { keys, origins, refund_orders }: SentCreates,
  is_restored = false,
): Watch & { readonly problems: string[] } {
  const problems: string[] = []
  const payment_ids = new Map<string, string>()
  /** The entries of each payment, refund and chargeback, as far as they are committed. */
  const entries_of = new Map<string, JournalEntry[]>()
  const refusals = new Set<string>()
  const entriesOf = (owner: string): readonly JournalEntry[] => entries_of.get(owner) ?? []
  const leases = createLeaseWatch(keys)
  const deliveries = createDeliveryWatch()
  const [files, acts] = [createFileWatch(history.clean_files), createActWatch(history)]
  const expiries = createExpiryWatch()
  const accounts = createAccountWatch(origins)
  const [bodies, ends] = [createWholeWatch(), createEndWatch()]
  const report = (problem: string): void => void problems.push(problem)
  return {
    overdue: ends.overdue,
    withEnded: (databases) => ends.withEnded(databases, bodies.whole),
    problems,
    refund_orders,
    onChange(database, collection, stored_change, writer) {
      const name = `${database}.${collection}` as const
      const change = bodies.wholeOf(name, stored_change, writer, report)
      const { key, before, after } = change
      const has_ended = ends.onChange(name, change, writer, report)
      if (has_ended) forgetEnded(history, name, before as unknown as PaymentRecord)
      for (const judge of [storedPersonProblems, files.onChange, acts.onChange])
        problems.push(...judge(name, change))
      const is_changed = PERMANENT.includes(name) && before !== undefined && !isSameContent(change)
      if (is_changed && !isResealed(name, change, writer)) problems.push(`${name} ${key} was changed`)
      if (writer !== undefined) problems.push(...leases.onChange(name, change, writer))
      if (name === 'payments.payments' && !has_ended) {
        problems.push(...paymentProblems(change, refusals), ...refundProblems(change, history.refunds))
        problems.push(...expiries.onChange(change))
        const payment = after as unknown as StoredPayment | undefined
        if (payment !== undefined) {
          payment_ids.set(`${payment.merchant_id} ${payment.h_id}`, payment.payment_id)
          rememberStored(history, payment)
        }
      }
      accounts.onChange(name, change, writer)
      if (name === 'balances.journal' && before === undefined) addEntries(entries_of, after)
      if (name === 'support.refunds' && !has_ended) problems.push(...shownRefundProblems(change, entriesOf))
      if (name === 'notifier.events') problems.push(...deliveries.onEvent(change, writer))
      if (name === 'notifier.destinations') problems.push(...deliveries.onDestination(change))
      if (name === 'notifier.deliveries') problems.push(...deliveries.onDelivery(change, writer))
      if (name === 'payments.withdrawal_refusals' && after !== undefined) {
        if (before !== undefined) problems.push(`${name} ${key} was changed`)
        refusals.add((after as unknown as { payment_id: string }).payment_id)
      }
    },
    onRequest(request, sender, origin) {
      problems.push(...deliveries.onCallback(request, sender))
      for (const key of keysOfLookup(request)) {
        problems.push(...leases.onLookup(key, sender))
        expiries.onLookup(key, sender)
      }
      const key = keyOfCreate(request)
      if (key === undefined) return
      const refund = refundOrderOf(request)
      if (refund !== undefined) refund_orders.push(refund)
      problems.push(...accounts.onCreate({ key, refund, origin }, sender), ...leases.onCreate(key, sender))
    },
    onMessage: (subject, data) =>
      void problems.push(...deliveries.onMessage(subject, data), ...publishedPersonProblems(subject, data)),
    onCallback: (text) =>
      void problems.push(...callbackProblems(text, { history, payment_ids, entriesOf, is_restored })),
  }
}

/** What is known when a callback arrives. */
interface KnownToCallbacks {
  readonly history: History
  readonly payment_ids: ReadonlyMap<string, string>
  readonly entriesOf: (owner: string) => readonly JournalEntry[]
  readonly is_restored: boolean
}

function* callbackProblems(
  text: string,
  { history, payment_ids, entriesOf, is_restored }: KnownToCallbacks,
): Iterable<string> {
  const { id, merchant_id, data } = JSON.parse(text)
  const { payment } = data.result
  if (payment === undefined) return yield* supportCallbackProblems(id, data.result, entriesOf)
  const record = history.payments.get(recordKey(merchant_id, payment.identifiers.c_id))
  if (record === undefined) return yield `the callback ${id} is about an unknown payment`
  observePayment(history, record, payment)
  const { status } = payment.status
  if (isPaidStatus(status)) history.announce(record)
  const payment_id = payment_ids.get(`${merchant_id} ${payment.identifiers.h_id}`)
  // A restored notifier may announce what the payments were read too early for, or what was on its way.
  if (payment_id === undefined && is_restored) return
  const entries = entriesOf(payment_id ?? '')
  if (!hasEntryOf(entries, { direction: record.direction, status }))
    yield `the callback ${id} of ${status} arrived before the ledger had its entry`
  for (const refund_id of completedRefunds(payment))
    if (!entriesOf(refund_id).some(({ kind }) => kind === 'capture'))
      yield `the callback ${id} shows the refund ${refund_id} before the ledger had taken it`
}

function rememberStored(history: History, { merchant_id, c_id, payment_id }: StoredPayment): void {
  history.stored.set(recordKey(merchant_id, c_id), payment_id)
}

/** Adds the entries of a batch of the journal to the payments, refunds and chargebacks that they belong to. */
function addEntries(entries_of: Map<string, JournalEntry[]>, batch: Change['after']): void {
  const { entries = [] } = (batch ?? {}) as { entries?: readonly JournalEntry[] }
  for (const entry of entries) {
    if (entry.payment_id === undefined) continue
    const owner = ownerOf(entry)
    entries_of.set(owner, [...(entries_of.get(owner) ?? []), entry])
  }
}

/** Whether only the secrets of an event were encrypted again, which the operator's command does and no process. */
function isResealed(name: string, { before, after }: Change, writer: Actor | undefined): boolean {
  const [old, next] = [before, after].map((body) => body?.['body'] as Uint8Array | undefined)
  return (
    name === 'notifier.events' &&
    writer === undefined &&
    old !== undefined &&
    next !== undefined &&
    // The sealed body has the id of its key, with the length of that, in front.
    old.length - (old[0] ?? 0) === next.length - (next[0] ?? 0)
  )
}

/** The refunds that a payment shows as paid. */
function completedRefunds({
  operations,
}: {
  readonly operations: readonly ShownOperation[]
}): readonly string[] {
  return operations
    .filter(({ operation_type, status }) => operation_type === 'refund' && status.status === 'success')
    .map(({ id }) => id)
}

/** What is wrong with one change of a payment. Another request under its `c_id` may take the place of a refused withdrawal. */
function* paymentProblems(change: Change, refusals: ReadonlySet<string>): Iterable<string> {
  const { key, before: old_body, after: new_body } = change
  const [before, after] = [old_body, new_body] as unknown as (StoredPayment | undefined)[]
  if (before?.status === 'refused' && after !== undefined && after.payment_id !== before.payment_id) {
    yield* paymentProblems({ ...change, after: undefined }, refusals)
    yield* paymentProblems({ ...change, before: undefined }, refusals)
    return
  }
  if (after === undefined) {
    if (before?.status !== 'refused') yield `the payment ${key} was deleted`
    else if (!refusals.has(before.payment_id)) yield `the refused ${key} was deleted without a record of it`
    return
  }
  if (before === undefined) {
    const first = after.direction === 'in' ? 'created' : 'reserving'
    if (after.status !== first) yield `the payment ${key} begins as ${after.status}`
    return
  }
  if (!isAllowed(before, after)) yield `the payment ${key} went from ${before.status} to ${after.status}`
  for (const field of FIXED) {
    if (old_body?.[field] !== new_body?.[field]) yield `the payment ${key} changed its ${field}`
  }
  const steps = after.history.length - before.history.length
  const is_same = before.status === after.status || after.status === 'refused'
  const is_refund = before.status === 'partially_refunded' && steps === 1
  // The answers of all accounts of a restored payment are applied in one write: it may have begun and ended since (P19).
  const is_found =
    after.restored !== undefined && steps === 2 && after.history.at(-2)?.status === 'processing'
  if (steps !== (is_same ? 0 : 1) && !is_refund && !is_found)
    yield `the payment ${key} made ${steps} transitions at once`
  if (before.history.some(({ status }, index) => after.history[index]?.status !== status)) {
    yield `the payment ${key} changed its history`
  }
}

/** What a withdrawal may become that the ledger has not admitted, and that no merchant sees. */
const BEFORE_ADMISSION: Readonly<Record<string, readonly string[]>> = {
  reserving: ['reserving', 'created', 'refused'],
  refused: ['refused'],
}

/** The statuses that no withdrawal has. */
const NEVER_OUT = ['declined', 'partially_refunded', 'refunded']

function isAllowed({ direction, status }: StoredPayment, after: StoredPayment): boolean {
  if (direction === 'in') return mayBecome(status, after.status)
  if (NEVER_OUT.includes(after.status)) return false
  return BEFORE_ADMISSION[status]?.includes(after.status) ?? mayBecome(status, after.status)
}
