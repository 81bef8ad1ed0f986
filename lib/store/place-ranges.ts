/** A range below this part of the mean of a server stays where it is: 256 of them are a quarter of the mean. */
const QUIET_PART = 1 / 1_000

/**
 * Chooses a server for each range of a collection. All weights are above 0. The heaviest ranges, as many as there are servers,
 * go to different servers. The next ones, in the order of their weights, stay where they are until that server has the mean
 * weight. What cannot stay goes to the server with the least weight. A repetition with the same weights moves nothing. `owners`
 * are the present servers of the ranges; a server that is not in `servers` loses all of its ranges.
 */
export function placeRanges(
  weights: readonly number[],
  owners: readonly string[],
  servers: readonly string[],
): readonly string[] {
  const mean = weights.reduce((sum, weight) => sum + weight, 0) / servers.length
  const loads = new Map(servers.map((server) => [server, 0]))
  const placed = [...owners]
  const heaviest_first = [...weights.entries()].sort(([, one], [, other]) => other - one)
  for (const [rank, [range, weight]] of heaviest_first.entries()) {
    const own = owners[range] ?? ''
    const load = loads.get(own)
    const has_room = load !== undefined && (rank < servers.length ? load === 0 : load < mean)
    const stays = has_room || (load !== undefined && weight < mean * QUIET_PART)
    const server = stays ? own : leastOf(loads)
    loads.set(server, (loads.get(server) ?? 0) + weight)
    placed[range] = server
  }
  return placed
}

function leastOf(loads: ReadonlyMap<string, number>): string {
  const [[first] = ['']] = [...loads].sort(([, one], [, other]) => one - other)
  return first
}
