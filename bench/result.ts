/**
 * One measurement beside its floor: the least program that does the same visible work, measured in the same run.
 * `ratio` is how much of the floor's speed is left, for times and sizes too: 1 is all of it.
 */
export interface BenchResult {
  readonly name: string
  readonly ours: number
  readonly floor: number
  readonly unit: string
  readonly ratio: number
  readonly goal?: Goal
}

/** What we accept: at least this ratio, or at most so much of the unit. */
export type Goal = { readonly ratio: number } | { readonly at_most: number }

/** Whether a result is as good as its goal; `undefined` for one that has none. */
export function reached({ ours, ratio, goal }: BenchResult): boolean | undefined {
  if (goal === undefined) return undefined
  return 'ratio' in goal ? ratio >= goal.ratio : ours <= goal.at_most
}
