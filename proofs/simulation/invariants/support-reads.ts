import type { History } from '../workload/history.ts'
import type { SimulatedMerchant } from '../workload/merchants.ts'
import type { PublicApi } from '../workload/public-api.ts'
import { refundRequest } from '../workload/refund-desk.ts'
import { documentsOf, type Evidence } from './judge.ts'
import { expectedSummaries, SUMMARIZED, textOf } from './summaries.ts'

/** The most refunds that are requested again for one merchant. */
const REPETITIONS_MAX = 5

/**
 * The summaries show what is stored, also when several are requested at once. The `c_id` of a refund still names that
 * refund, long after it has ended, and no other request can use it (S3). Nothing fails any more.
 */
export async function* supportReadsAgree(
  evidence: Pick<Evidence, 'databases'>,
  api: PublicApi,
  history: History,
  { merchant_id, credentials: [credential] }: SimulatedMerchant,
): AsyncIterable<string> {
  if (credential === undefined) return
  for (const kind of SUMMARIZED) {
    const expected = expectedSummaries(evidence, kind, merchant_id)
    const outcomes = await Promise.all(
      expected.map(({ params }) => api.call(credential, { method: `${kind}.summary`, params })),
    )
    for (const [index, outcome] of outcomes.entries()) {
      const counts = outcome.kind === 'success' ? (outcome.result['by_status'] as Record<string, number>) : {}
      const { params, counts: stored } = expected[index] ?? { params: {}, counts: '' }
      if (outcome.kind !== 'success' || textOf(counts) !== stored)
        yield `${merchant_id} has ${kind}s ${stored} within ${JSON.stringify(params)}, and its summary shows ${JSON.stringify(outcome)}`
    }
  }
  const refunds = documentsOf<{ readonly refund_id: string; readonly c_id: string }>(
    evidence.databases,
    'support',
    'refunds',
  )
  const stored = new Set(refunds.map(({ refund_id, c_id }) => `${refund_id} ${c_id}`))
  const accepted = [...history.refunds.values()].filter(
    // After a restore, one that was requested after the backup is unknown, or is known from the ledger only: that has no c_id of
    // it, so that it has its own id instead (docs/operators/backup.md).
    ({ merchant_id: owner, h_id, c_id }) => owner === merchant_id && stored.has(`${h_id} ${c_id}`),
  )
  for (const record of accepted.slice(-REPETITIONS_MAX)) {
    const { c_id, h_id } = record
    const same = await api.call(credential, refundRequest(record))
    const shown = same.kind === 'success' ? (same.result['identifiers'] as { h_id: string }).h_id : same
    if (shown !== h_id)
      yield `${c_id} is the refund ${h_id}, and is now answered with ${JSON.stringify(shown)}`
    const other = await api.call(credential, refundRequest({ ...record, amount: (record.amount ?? 1) + 1 }))
    if (other.kind !== 'error' || other.code !== 1013)
      yield `${c_id} with another amount is answered with ${JSON.stringify(other)}, not with 1013`
  }
}
