/** One round: what both sides came to, right after one another. */
export interface Round<T> {
  readonly ours: T
  readonly floor: T
}

/** How a measured number is read: of a rate more is better, of a time or a size less. */
export type Better = 'more' | 'less'

/**
 * Measures the two sides in turns, so that what else the machine does meets both. The first rounds, one unless given,
 * only warm up: they are measured and left out.
 */
export async function inTurns<T>(
  rounds: number,
  sides: { readonly ours: () => Promise<T> | T; readonly floor: () => Promise<T> | T },
  warm_up_rounds = 1,
): Promise<Round<T>[]> {
  const measured: Round<T>[] = []
  for (let round = 0; round < warm_up_rounds + rounds; round += 1) {
    const floor = await sides.floor()
    const ours = await sides.ours()
    if (round >= warm_up_rounds) measured.push({ ours, floor })
  }
  return measured
}

/** The medians of some rounds. The ratio is the median of those of neighbours in time, which shared their weather. */
export function compared<T>(
  rounds: readonly Round<T>[],
  read: (measured: T) => number,
  better: Better = 'more',
): { ours: number; floor: number; ratio: number } {
  const values = rounds.map(({ ours, floor }) => ({ ours: read(ours), floor: read(floor) }))
  return {
    ours: median(values.map(({ ours }) => ours)),
    floor: median(values.map(({ floor }) => floor)),
    ratio: median(values.map(({ ours, floor }) => (better === 'more' ? ours / floor : floor / ours))),
  }
}

function median(values: readonly number[]): number {
  return values.toSorted((left, right) => left - right)[Math.floor(values.length / 2)] ?? 0
}
