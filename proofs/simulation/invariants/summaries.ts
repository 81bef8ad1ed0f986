import { documentsOf, type Evidence, type Invariant } from './judge.ts'

/** The fields of a ticket, a refund or a chargeback that its summary counts. */
export interface SummarizedDocument {
  readonly merchant_id: string
  readonly status: string
  readonly created_at: Date
  readonly deleted_at?: Date
  readonly payment?: { readonly payment_id: string }
  readonly effects: readonly { readonly id: string }[]
}

/** The kinds of resources with a summary. */
export const SUMMARIZED = ['ticket', 'refund', 'chargeback'] as const

/** All resources of a kind. */
export function summarizedDocuments(
  { databases }: Pick<Evidence, 'databases'>,
  kind: (typeof SUMMARIZED)[number],
): readonly SummarizedDocument[] {
  return documentsOf<SummarizedDocument>(databases, 'support', `${kind}s`)
}

/** No ticket, refund or chargeback has an effect left (S11, S12), unless its payment, which it is about, is lost. */
export const supportEffectsEnd: Invariant = function* (evidence) {
  for (const kind of SUMMARIZED)
    for (const { effects, payment } of summarizedDocuments(evidence, kind))
      if (effects.length > 0 && !(payment && evidence.lost?.has(payment.payment_id)))
        yield `a ${kind} has effects left: ${effects.map(({ id }) => id)}`
}

/** A summary that a merchant requests: its parameters, and the counts of what is stored, as a text. */
export interface ExpectedSummary {
  readonly params: { readonly created_from?: string; readonly created_to?: string }
  readonly counts: string
}

/**
 * The summaries of one kind that a merchant requests, all but the first one at the same time (S11): twice of everything, and
 * of the resources before and from the creation of the one in the middle.
 */
export function expectedSummaries(
  evidence: Pick<Evidence, 'databases'>,
  kind: (typeof SUMMARIZED)[number],
  merchant_id: string,
): readonly ExpectedSummary[] {
  const documents = summarizedDocuments(evidence, kind).filter(
    (document) => document.merchant_id === merchant_id && document.deleted_at === undefined,
  )
  const times_ms = documents.map(({ created_at }) => created_at.getTime()).sort((a, b) => a - b)
  const middle_ms = times_ms[Math.floor(times_ms.length / 2)] ?? 0
  const middle = new Date(middle_ms).toISOString()
  const all = { params: {}, counts: countsOf(documents) }
  const before = documents.filter(({ created_at }) => created_at.getTime() < middle_ms)
  const after = documents.filter(({ created_at }) => created_at.getTime() >= middle_ms)
  return [
    all,
    all,
    { params: { created_to: middle }, counts: countsOf(before) },
    { params: { created_from: middle }, counts: countsOf(after) },
  ]
}

function countsOf(documents: readonly SummarizedDocument[]): string {
  const counts: Record<string, number> = {}
  for (const { status } of documents) counts[status] = (counts[status] ?? 0) + 1
  return textOf(counts)
}

/** Counts by status, as a text that can be compared. */
export function textOf(counts: Readonly<Record<string, number>>): string {
  const rows = Object.entries(counts).filter(([, count]) => count !== 0)
  return rows
    .map(([status, count]) => `${status} ${count}`)
    .sort()
    .join(', ')
}
