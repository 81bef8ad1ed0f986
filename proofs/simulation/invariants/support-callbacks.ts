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
  const has_entry = entriesOf(h_id).some(
    ({ kind, refused_code }) => kind === demanded && refused_code === undefined,
  )
  if (demanded !== undefined && !has_entry)
    yield `the callback ${id} of ${resource.status} arrived before the ledger had its entry`
}
