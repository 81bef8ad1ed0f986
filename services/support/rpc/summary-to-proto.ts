import type { EnumMap } from '#lib/contract/proto-fields.ts'
import type { StatusCounts } from '../use-cases/summarize.ts'

/** Maps a summary, with its statuses in the order of their declaration. */
export function summaryToProto<Status extends string, Proto extends number>(
  counts: StatusCounts<Status>,
  statuses: EnumMap<Status, Proto>,
): { readonly counts: { readonly status: Proto; readonly count: bigint }[] } {
  return {
    counts: statuses.names.map((status) => ({
      status: statuses.toProto(status),
      count: BigInt(counts[status]),
    })),
  }
}
