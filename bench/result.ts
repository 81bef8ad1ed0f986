/**
 * One measurement next to its baseline: the smallest program that does the same visible work, measured in the same run.
 * `ratio` is 1 when both are equally good, and less than 1 when ours is slower or larger. What no small program does, such
 * as the part of one role in a payment, has neither.
 */
export interface BenchResult {
  readonly name: string
  readonly ours: number
  readonly baseline?: number
  readonly unit: string
  readonly ratio?: number
  readonly goal?: Goal
}

/** The acceptance limit of a result: a smallest ratio, or a largest value in the unit of the result. */
export type Goal = { readonly ratio: number } | { readonly at_most: number }

/** Whether a result reaches its goal; `undefined` for a result without a goal. */
export function reachesGoal({ ours, ratio, goal }: BenchResult): boolean | undefined {
  if (goal === undefined) return undefined
  return 'ratio' in goal ? (ratio ?? 0) >= goal.ratio : ours <= goal.at_most
}
