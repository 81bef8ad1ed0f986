import { withoutRequest } from '#lib/base/context.ts'
import { clock, withTimeout } from '#lib/base/time.ts'
import { Unavailable } from '#lib/contract/errors/unavailable.ts'
import type { MerchantScope } from '#lib/contract/merchant-scope.ts'
import type { Collection } from '#lib/store/store.ts'

/** Which resources of a merchant to count: those that were created from `created_from` to before `created_to`. */
interface SummaryRequest extends MerchantScope {
  readonly created_from?: Date
  readonly created_to?: Date
}

/** How long a summary may take: its own count, and the count of the same merchant before it. */
const LIMIT_MS = 3_000

/** No resource is older. A deleted ticket has no time and is below every bound. */
const FIRST = new Date(0)

/** A count that has not begun. Each caller that joins it moves its end. */
interface PlannedCount {
  readonly counts: Promise<ReadonlyMap<string, number>>
  until_ms: number
}

/**
 * Makes the summary of one kind of resources (S11). It counts the entries of the index `summary`, whose last field is the
 * status. One count per merchant is under way; the next one is shared by all callers that wait for the same range. A caller
 * never joins a count that has begun: that could miss what the caller has just been answered. Throws `Unavailable` after 3 s.
 */
export function createSummary<Status extends string>(
  collection: Pick<Collection<never>, 'count'>,
  statuses: readonly Status[],
): (request: SummaryRequest) => Promise<Readonly<Record<Status, number>>> {
  /** By merchant and range. */
  const planned = new Map<string, PlannedCount>()
  /** The end of the last count of each merchant that has one. */
  const ends = new Map<string, Promise<void>>()

  function planCount(merchant: string, range: string, request: SummaryRequest): PlannedCount {
    const before = ends.get(merchant)
    const run = async (): Promise<ReadonlyMap<string, number>> => {
      await before
      planned.delete(range)
      const limit_ms = plan.until_ms - clock.monotonic_ms()
      // Its callers have different deadlines, and the last caller that waits decides.
      return withoutRequest(() => collection.count('summary', rangeOf(request), { limit_ms }))
    }
    const plan: PlannedCount = { until_ms: 0, counts: Promise.resolve().then(run) }
    planned.set(range, plan)
    const end = (): void => {
      if (ends.get(merchant) === ended) ends.delete(merchant)
    }
    const ended = plan.counts.then(end, end)
    ends.set(merchant, ended)
    return plan
  }

  return async (request) => {
    const { merchant_id, environment, created_from, created_to } = request
    const merchant = JSON.stringify([merchant_id, environment])
    const range = JSON.stringify([merchant, created_from, created_to])
    const plan = planned.get(range) ?? planCount(merchant, range, request)
    plan.until_ms = clock.monotonic_ms() + LIMIT_MS
    const counts = await withTimeout(plan.counts, LIMIT_MS)
    if (!counts) throw new Unavailable('the summary takes too long; try again')
    const rows = statuses.map((status) => [status, counts.get(status) ?? 0] as const)
    return Object.fromEntries(rows) as Record<Status, number>
  }
}

function rangeOf({ merchant_id, environment, created_from = FIRST, created_to }: SummaryRequest) {
  return { equals: [merchant_id, environment], from: created_from, to: created_to }
}
