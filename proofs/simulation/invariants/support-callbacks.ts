import type { Change } from '../parts/store/memory-collection.ts'
import type { JournalEntry } from './ledger.ts'

/** What a callback about a resource of support shows. */
interface ShownResource {
  readonly identifiers: { readonly h_id: string }
  readonly status: string
}

/** The resource of a callback, under its name. */
type ShownResult = Readonly<Partial<Record<'ticket' | 'refund' | 'chargeback', ShownResource>>>

/** The fields of the texts of merchants and of the operator, which no callback of support has (S12). */
const TEXTS = ['reason', 'title', 'description', 'body', 'note', 'history', 'operator_reason']

/** What the ledger must have recorded about a refund before its status is announced (P9). */
const ENTRY_OF: Readonly<Record<string, string>> = {
  approved: 'hold',
  completed: 'capture',
  failed: 'release',
}

/** What is wrong with a callback of support when it arrives. `entriesOf` returns the entries of a refund or a chargeback. */
export function* supportCallbackProblems(
  id: string,
  { ticket, refund, chargeback }: ShownResult,
  entriesOf: (owner: string) => readonly JournalEntry[],
): Iterable<string> {
  const resource = ticket ?? refund ?? chargeback
  if (resource === undefined) return yield `the callback ${id} shows no resource`
  const { h_id } = resource.identifiers
  if (!id.startsWith(`${h_id}:`)) yield `the callback ${id} is about ${h_id}`
  for (const field of TEXTS) if (field in resource) yield `the callback ${id} shows the field ${field}`
  const demanded = refund === undefined ? chargeback && 'transfer' : ENTRY_OF[refund.status]
  if (!hasEntry(entriesOf(h_id), demanded))
    yield `the callback ${id} of ${resource.status} arrived before the ledger had its entry`
}

/** The fields of a refund as merchants see it. */
interface ShownRefund {
  readonly refund_id: string
  readonly status: string
  readonly change_number: number
}

/** What each status of a refund may become, as merchants see it (S7). */
const NEXT_OF: Readonly<Record<string, readonly string[]>> = {
  pending: ['approved', 'rejected', 'canceled'],
  approved: ['completed', 'failed'],
}

/**
 * What is wrong with one change of a refund that merchants see: its changes are recorded one by one, in their order, and
 * none before the entry that its status demands of the ledger (S9, P9).
 */
export function* shownRefundProblems(
  { before: old_body, after: new_body }: Change,
  entriesOf: (owner: string) => readonly JournalEntry[],
): Iterable<string> {
  const [before, after] = [old_body, new_body] as unknown as (ShownRefund | undefined)[]
  if (after === undefined || after.change_number === before?.change_number) return
  const { refund_id, status, change_number } = after
  const is_next =
    before === undefined
      ? status === 'pending' && change_number === 1
      : change_number === before.change_number + 1 && NEXT_OF[before.status]?.includes(status) === true
  if (!is_next)
    yield `the refund ${refund_id} went from ${before?.status} to ${status} with the change ${change_number}`
  if (!hasEntry(entriesOf(refund_id), ENTRY_OF[status]))
    yield `the refund ${refund_id} is shown as ${status} before the ledger had its entry`
}

/** Whether the ledger has placed an entry of this kind, if one is demanded. */
function hasEntry(entries: readonly JournalEntry[], demanded: string | undefined): boolean {
  const isDemanded = ({ kind, refused_code }: JournalEntry): boolean =>
    kind === demanded && refused_code === undefined
  return demanded === undefined || entries.some(isDemanded)
}
