import { Direction } from '#gen/multihub/merchants/v1/route_pb.ts'
import { RefundStatus } from '#gen/multihub/payments/v1/refund_pb.ts'
import type { PublicOutcome } from '../simulation/workload/public-api.ts'
import { FAULT_KINDS } from './faults/disturbance.ts'
import type { FaultRecord } from './faults/inject.ts'
import type { Facts } from './judge/evidence.ts'
import type { Recovery, Spread } from './judge/recovery.ts'
import type { Verdict } from './judge/verdict.ts'
import { describeUses, type RoleUse } from './processor-use.ts'
import type { AcceptedActs } from './workload/operator-acts.ts'
import type { Timeline } from './workload/timeline.ts'

/** What a run has shown. */
export interface ChaosResult {
  readonly verdict: Verdict
  readonly timeline: Timeline
  readonly faults: FaultRecord
  readonly recoveries: readonly Recovery[]
  readonly uses: readonly RoleUse[]
  /** What else was judged, in words. */
  readonly others: string
  /** From the last repair until everything was final. */
  readonly settled_ms: number
  /** Where the logs are; absent when nothing is wrong, because they are deleted then. */
  readonly directory: string | undefined
}

const PROBLEMS_SHOWN = 40

/** One line about a run that goes on. */
export function describeProgress(
  elapsed_ms: number,
  timeline: Timeline,
  { kills, present }: FaultRecord,
): string {
  const faults = present.size === 0 ? 'none' : [...present].join(', ')
  return `  ${(elapsed_ms / 1_000).toFixed(0)} s: ${describeCreates(timeline)}; ${kills} kills; now: ${faults}`
}

/** The result of a run, line by line. */
export function* describeResult(result: ChaosResult): Iterable<string> {
  const { verdict, timeline, faults, recoveries, uses, others, settled_ms, directory } = result
  const { accepted, lost, doubled, out_of_order, problems } = verdict
  yield `  requests for deposits: ${describeCreates(timeline)}`
  yield `  payments: ${accepted} accepted, ${lost} lost, ${doubled} doubled, ${out_of_order} out of order`
  yield `  ${others}`
  yield `  processes killed: ${faults.kills}; everything was final ${seconds(settled_ms)} after the last request`
  yield '  fault            count  first accepted after the repair   everything final after the repair'
  for (const kind of FAULT_KINDS) {
    const recovery = recoveries.find((one) => one.kind === kind)
    if (recovery !== undefined) yield describeRecovery(recovery)
  }
  yield* describeUses(uses, accepted)
  for (const problem of problems.slice(0, PROBLEMS_SHOWN)) yield `  WRONG: ${problem}`
  if (problems.length > PROBLEMS_SHOWN) yield `  and ${problems.length - PROBLEMS_SHOWN} more`
  if (directory !== undefined) yield `  the logs of all processes are in ${directory}`
}

/** How much of everything but deposits the facts of a run have. */
export function describeOthers(
  { payments, refunds, refusals, history }: Facts,
  { entry_ids, minimum_amounts }: AcceptedActs,
): string {
  const withdrawals = payments.filter(({ direction }) => direction === Direction.OUT).length
  const completed = refunds.filter(({ status }) => status === RefundStatus.COMPLETED).length
  const files = [...history.files.values()].filter(({ is_finalized }) => is_finalized).length
  const acts = `${entry_ids.size} corrections, ${minimum_amounts.size} changed routes`
  return `${withdrawals} withdrawals, ${refusals.length} refused; ${refunds.length} refunds, ${completed} completed; ${files} files; ${acts}`
}

/** The code of a dependency that is down: the merchant has to ask whether its payment exists. */
const UNAVAILABLE = 2002

function describeCreates({ creates }: Timeline): string {
  const count = (matches: (outcome: PublicOutcome) => boolean): number =>
    creates.filter(({ outcome }) => matches(outcome)).length
  const isUnavailable = (outcome: PublicOutcome): boolean =>
    outcome.kind === 'error' && outcome.code === UNAVAILABLE
  return [
    `${count(({ kind }) => kind === 'success')} accepted`,
    `${count((outcome) => outcome.kind === 'error' && !isUnavailable(outcome))} refused`,
    `${count(isUnavailable)} unavailable`,
    `${count(({ kind }) => kind === 'none')} without a response`,
  ].join(', ')
}

function describeRecovery({ kind, count, first_accepted, everything_final }: Recovery): string {
  return `  ${kind.padEnd(15)}  ${String(count).padStart(5)}  ${describeSpread(first_accepted).padEnd(32)}  ${describeSpread(everything_final)}`
}

function describeSpread(spread: Spread | undefined): string {
  return spread === undefined
    ? 'not measured'
    : `median ${seconds(spread.median_ms)}, longest ${seconds(spread.max_ms)}`
}

function seconds(value_ms: number): string {
  return `${(value_ms / 1_000).toFixed(1)} s`
}
