import { documentsOf, type Evidence, type Invariant } from './judge.ts'

/** The fields of a ticket, a refund or a chargeback that its summary counts. */
export interface SummarizedDocument {
  readonly merchant_id: string
  readonly status: string
  readonly effects: readonly { readonly id: string }[]
}

/** The counts of a month or of a day. */
interface StoredCounts {
  readonly merchant_id: string
  readonly period: string
  readonly slots: Readonly<Record<string, Readonly<Record<string, number>>>>
  readonly counted: readonly string[]
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

/**
 * The counts of days and of minutes are those of the tickets, refunds and chargebacks, and no change is still being counted
 * (S11).
 */
export const countsMatch: Invariant = function* (evidence) {
  for (const kind of SUMMARIZED) {
    const documents = summarizedDocuments(evidence, kind)
    const counts = documentsOf<StoredCounts>(evidence.databases, 'support', `${kind}_counts`)
    for (const { effects } of documents)
      if (effects.length > 0) yield `a ${kind} has effects left: ${effects.map(({ id }) => id)}`
    for (const { period, counted } of counts)
      if (counted.length > 0) yield `${period} of ${kind}s still has marks of counted changes`
    for (const { merchant_id } of evidence.merchants) {
      const expected = countsOf(documents, merchant_id)
      for (const unit of ['month', 'day']) {
        const periods = counts.filter(
          (one) => one.merchant_id === merchant_id && one.period.startsWith(`${unit}:`),
        )
        const found = textOf(periods.flatMap(({ slots }) => Object.values(slots)))
        if (found !== expected)
          yield `${merchant_id} has ${kind}s ${expected}, and its counts by ${unit} are ${found}`
      }
    }
  }
}

/** The number of a merchant's resources by status, as a text that can be compared. */
export function countsOf(documents: readonly SummarizedDocument[], merchant_id: string): string {
  return textOf(
    documents
      .filter((document) => document.merchant_id === merchant_id)
      .map(({ status }) => ({ [status]: 1 })),
  )
}

/** The sums by status, as a text that can be compared. */
export function textOf(counts: readonly Readonly<Record<string, number>>[]): string {
  const sums = new Map<string, number>()
  for (const one of counts)
    for (const [status, count] of Object.entries(one)) sums.set(status, (sums.get(status) ?? 0) + count)
  const rows = [...sums].filter(([, count]) => count !== 0).map(([status, count]) => `${status} ${count}`)
  return rows.sort().join(', ')
}
