/** One round: the measurement of both sides, one right after the other. */
export interface Round<T> {
  readonly ours: T
  readonly baseline: T
}

/** Which values are better: higher ones for a rate, lower ones for a time or a size. */
export type Better = 'higher' | 'lower'

/**
 * Measures the two sides alternately, so that other work on the machine affects both. The first rounds (one by default)
 * warm up the code; their measurements are discarded. Prints the name as progress.
 */
export async function measureAlternately<T>(
  name: string,
  rounds: number,
  sides: { readonly ours: () => Promise<T> | T; readonly baseline: () => Promise<T> | T },
  warm_up_rounds = 1,
): Promise<Round<T>[]> {
  printProgress(name)
  const measured: Round<T>[] = []
  for (let round = 0; round < warm_up_rounds + rounds; round += 1) {
    const baseline = await sides.baseline()
    const ours = await sides.ours()
    if (round >= warm_up_rounds) measured.push({ ours, baseline })
  }
  return measured
}

/** Prints what is measured next, on standard error, because standard output holds the results only. */
export function printProgress(name: string): void {
  process.stderr.write(`  ${name} ...\n`)
}

/**
 * The medians of the rounds. The ratio is the median of the ratios within each round, because both values of a round
 * were measured under the same load of the machine.
 */
export function medianOf<T>(
  rounds: readonly Round<T>[],
  read: (measured: T) => number,
  better: Better = 'higher',
): { ours: number; baseline: number; ratio: number } {
  const values = rounds.map(({ ours, baseline }) => ({ ours: read(ours), baseline: read(baseline) }))
  const ratioOf = ({ ours, baseline }: Round<number>): number =>
    better === 'higher' ? ours / baseline : baseline / ours
  return {
    ours: median(values.map(({ ours }) => ours)),
    baseline: median(values.map(({ baseline }) => baseline)),
    ratio: median(values.map(ratioOf)),
  }
}

function median(values: readonly number[]): number {
  return values.toSorted((left, right) => left - right)[Math.floor(values.length / 2)] ?? 0
}
