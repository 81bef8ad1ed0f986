import { callbacksAreSigned, deliveriesHaveEnded } from '../../simulation/invariants/callbacks.ts'
import { eventsAreDelivered } from '../../simulation/invariants/events.ts'
import { type Evidence, type Invariant, paymentsOf } from '../../simulation/invariants/judge.ts'
import {
  creditsMatchPayments,
  entriesOf,
  outcomesAreRecorded,
  ownerOf,
} from '../../simulation/invariants/ledger.ts'
import {
  acceptedPaymentsExist,
  paymentsAreFinal,
  shownStatusesAreTrue,
} from '../../simulation/invariants/payments.ts'
import { booksAgree } from '../../simulation/invariants/provider.ts'
import { holdsMatchWithdrawals, refusalsAreRecorded } from '../../simulation/invariants/withdrawals.ts'
import { recordKey } from '../../simulation/workload/history.ts'
import { mayFollow } from '../../simulation/workload/observe.ts'

/** What a run has shown. */
export interface Verdict {
  /** The `c_id`s that merchants know to exist. */
  readonly accepted: number
  /** Accepted payments that do not exist. */
  readonly lost: number
  /** Payments that were created, paid or credited twice. */
  readonly doubled: number
  /** Payments whose status moved against the table, or that were shown so. */
  readonly out_of_order: number
  /** Everything that is wrong, as sentences with the `c_id` or the id. */
  readonly problems: readonly string[]
}

/** Each status of a payment follows from the one before. One sentence for each payment that breaks this. */
const statusesFollowTheTable: Invariant = function* (evidence) {
  for (const { merchant_id, c_id, history } of paymentsOf(evidence)) {
    const statuses = history.map(({ status }) => status)
    const is_right =
      statuses[0] === 'created' &&
      statuses.slice(1).every((status, index) => {
        const before = statuses[index] ?? ''
        // Each part that is refunded has an entry of its own.
        const is_next = before !== status || status === 'partially_refunded'
        return is_next && mayFollow(before, status)
      })
    if (!is_right) yield `${recordKey(merchant_id, c_id)} had the statuses ${statuses.join(', ')}`
  }
}

/** No payment is created, paid or credited twice. One sentence for each repetition. */
const nothingIsDoubled: Invariant = function* (evidence) {
  const times = new Map<string, number>()
  const count = (name: string): void => void times.set(name, (times.get(name) ?? 0) + 1)
  for (const { idempotency_key, status, kind } of evidence.operations) {
    if (status === 'success' && kind !== 'refund') count(`paid ${idempotency_key.split(':')[0]}`)
  }
  for (const entry of entriesOf(evidence)) {
    const { payment_id, kind } = entry
    // Chargebacks are transfers too.
    if (kind === 'transfer' && payment_id !== undefined && ownerOf(entry) === payment_id)
      count(`credited ${payment_id}`)
  }
  for (const [name, number] of times) if (number > 1) yield `${name} ${number} times`
  for (const [key, { created_responses }] of evidence.history.payments) {
    if (created_responses > 1) yield `${key} was created ${created_responses} times`
  }
}

/**
 * The invariants of the simulation, apart from those that need the stored documents themselves: the operator verifies
 * the journal instead.
 */
const INVARIANTS: Readonly<Record<string, Invariant>> = {
  acceptedPaymentsExist,
  paymentsAreFinal,
  statusesFollowTheTable,
  nothingIsDoubled,
  shownStatusesAreTrue,
  booksAgree,
  creditsMatchPayments,
  outcomesAreRecorded,
  holdsMatchWithdrawals,
  refusalsAreRecorded,
  eventsAreDelivered,
  deliveriesHaveEnded,
  callbacksAreSigned,
}

/** Judges the evidence of a run. `observed` are the problems that were seen while it ran. */
export function judge(evidence: Evidence, observed: readonly string[]): Verdict {
  const { history } = evidence
  const stored = new Set(paymentsOf(evidence).map(({ merchant_id, c_id }) => recordKey(merchant_id, c_id)))
  const accepted = [...history.payments].filter(([, { is_accepted }]) => is_accepted)
  const against_table = [...statusesFollowTheTable(evidence)].length
  const shown_behind = history.problems.filter((problem) => problem.includes('a later read showed')).length
  return {
    accepted: accepted.length,
    lost: accepted.filter(([key]) => !stored.has(key)).length,
    doubled: [...nothingIsDoubled(evidence)].length,
    out_of_order: against_table + shown_behind,
    problems: [
      ...history.problems,
      ...observed,
      ...Object.entries(INVARIANTS).flatMap(([name, invariant]) =>
        [...invariant(evidence)].map((problem) => `${name}: ${problem}`),
      ),
    ],
  }
}
