import type { MessageInitShape } from '@bufbuild/protobuf'
import { timestampDate, timestampFromDate } from '@bufbuild/protobuf/wkt'
import type { OpenItems, OpenItemsSchema } from '#gen/multihub/common/v1/open_items_pb.ts'
import type { Collection } from '#lib/store/store.ts'
import type { Selection } from './paging/read-merged-page.ts'

/** A count is exact up to this number, which means "this many or more". It is also the most documents of one read. */
const COUNT_MAX = 1_000

/**
 * Counts the documents of several ranges of indexes, each in the order of `sinceOf`, and finds the oldest. It reads at
 * most 1,000 documents and one more for each further range.
 */
export async function countOpen<D extends object>(
  collection: Pick<Collection<D>, 'find'>,
  selections: readonly Selection[],
  sinceOf: (document: D) => Date | undefined,
): Promise<MessageInitShape<typeof OpenItemsSchema>> {
  let count = 0
  const oldest: (Date | undefined)[] = []
  for (const { index, fixed } of selections) {
    const limit = Math.max(1, COUNT_MAX - count)
    const found = await collection.find(index, { equals: Object.values(fixed) }, { limit })
    count += found.length
    oldest.push(found[0] && sinceOf(found[0]))
  }
  return openItems(Math.min(count, COUNT_MAX), oldest)
}

/** Adds what several roles or collections have counted; those that are not known are left out. */
export function addOpenItems(
  parts: readonly (MessageInitShape<typeof OpenItemsSchema> | undefined)[],
): MessageInitShape<typeof OpenItemsSchema> | undefined {
  const known = parts.filter((part) => part !== undefined) as readonly OpenItems[]
  if (known.length === 0) return undefined
  return openItems(
    known.reduce((sum, part) => sum + part.count, 0),
    known.map(({ oldestTime }) => oldestTime && timestampDate(oldestTime)),
  )
}

/** What waits, with the time of the oldest. */
export function openItems(
  count: number,
  times: readonly (Date | undefined)[],
): MessageInitShape<typeof OpenItemsSchema> {
  const known = times.flatMap((time) => time?.getTime() ?? [])
  const oldest = known.length === 0 ? undefined : new Date(Math.min(...known))
  return { count, ...(oldest && { oldestTime: timestampFromDate(oldest) }) }
}
