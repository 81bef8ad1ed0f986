/**
 * One measurement beside its floor: the least program that does the same visible work, run in the same process at the
 * same time. `ratio` is how much of the floor's speed is left (1 is all of it); `goal` the least ratio we accept.
 */
export interface BenchResult {
  readonly name: string
  readonly ours: number
  readonly floor: number
  readonly unit: string
  readonly ratio: number
  readonly goal?: number
}
