import type { Timeline } from '../workload/timeline.ts'

/** A fault that was repaired. Times are of the monotonic clock. */
export interface RepairedFault {
  readonly kind: string
  readonly target: string
  readonly began_ms: number
  readonly repaired_ms: number
}

/** How long the system took after faults of one kind. Times are absent when no fault of the kind allows to measure them. */
export interface Recovery {
  readonly kind: string
  readonly count: number
  /** From the repair to the first accepted create that was sent after it. */
  readonly first_accepted: Spread | undefined
  /** From the repair until all creates that were sent before it are final, and their merchants know; expired ones aside. */
  readonly everything_final: Spread | undefined
}

/** Times in ms. */
export interface Spread {
  readonly median_ms: number
  readonly max_ms: number
}

/** Measures the recovery from each kind of fault. A later fault can lengthen what follows an earlier one. */
export function measureRecovery(
  faults: readonly RepairedFault[],
  { creates, final_ms, expired }: Timeline,
): readonly Recovery[] {
  const accepted = creates.filter(({ outcome }) => outcome.kind === 'success')
  const kinds = [...new Set(faults.map(({ kind }) => kind))]
  return kinds.map((kind) => {
    const of_kind = faults.filter((fault) => fault.kind === kind)
    const first = of_kind.flatMap(({ repaired_ms }) => {
      const answers = accepted
        .filter(({ sent_ms }) => sent_ms >= repaired_ms)
        .map(({ answered_ms }) => answered_ms)
      return answers.length === 0 ? [] : [Math.min(...answers) - repaired_ms]
    })
    const final = of_kind.map(({ repaired_ms }) => {
      const ends = creates
        .filter(({ key, sent_ms }) => sent_ms < repaired_ms && !expired.has(key))
        .map(({ key }) => final_ms.get(key) ?? repaired_ms)
      return Math.max(0, ...ends.map((end_ms) => end_ms - repaired_ms))
    })
    return { kind, count: of_kind.length, first_accepted: spreadOf(first), everything_final: spreadOf(final) }
  })
}

function spreadOf(values: readonly number[]): Spread | undefined {
  const sorted = values.toSorted((one, other) => one - other)
  const [median_ms, max_ms] = [sorted[Math.floor(sorted.length / 2)], sorted.at(-1)]
  return median_ms === undefined || max_ms === undefined ? undefined : { median_ms, max_ms }
}
