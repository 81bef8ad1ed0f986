/** The number of resources per status. A status without resources can be absent. */
export type StatusCounts = Readonly<Record<string, number>>

/** The counts after one resource less in `from` and one more in `to`; an empty text means none. Zeros are left out. */
export function moveCount(counts: StatusCounts, from: string, to: string): StatusCounts {
  const statuses = new Set([...Object.keys(counts), from, to])
  statuses.delete('')
  const moved = [...statuses].map((status) => {
    const change = Number(status === to) - Number(status === from)
    return [status, (counts[status] ?? 0) + change] as const
  })
  return Object.fromEntries(moved.filter(([, count]) => count !== 0))
}

/** The sum of counts, with every status (S11). */
export function sumCounts<Status extends string>(
  all: readonly StatusCounts[],
  statuses: readonly Status[],
): Readonly<Record<Status, number>> {
  const sums = statuses.map(
    (status) => [status, all.reduce((sum, counts) => sum + (counts[status] ?? 0), 0)] as const,
  )
  return Object.fromEntries(sums) as Record<Status, number>
}
