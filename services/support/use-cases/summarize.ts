import { clock, sleep } from '#lib/base/time.ts'
import { Unavailable } from '#lib/contract/errors/unavailable.ts'
import type { Collection, Fields, Range } from '#lib/store/store.ts'
import {
  countsWithin,
  divideRange,
  type PeriodCounts,
  periodsOf,
  type TimeRange,
} from '../domain/count-periods.ts'
import type { CountedResource } from '../domain/counted-resource.ts'
import { countStatusEffect } from '../domain/counted-resource.ts'
import { type StatusCounts, sumCounts } from '../domain/status-counts.ts'
import type { Owner } from '../domain/support-resource.ts'
import { readPeriods } from '../store/period-counts.ts'

/** Which resources of a merchant to count: those that were created from `created_from` to before `created_to`. */
export interface SummaryRequest extends Owner {
  readonly created_from?: Date
  readonly created_to?: Date
}

/** What a summary reads. The index `list` of the collection has the merchant, the environment and the creation. */
export interface SummaryDeps<D extends CountedResource, Status extends string> {
  readonly collection: Pick<Collection<D>, 'find' | 'get'>
  readonly counts: Pick<Collection<PeriodCounts>, 'find'>
  readonly keyOf: (document: D) => Fields
  readonly statuses: readonly Status[]
}

/** A summary of any kind of resource. */
type AnySummaryDeps<D extends SummarizedResource> = SummaryDeps<D, string>

interface SummarizedResource extends CountedResource {
  readonly status: string
}

/** No resource is older than this system, and none is created in a later year than dates of four digits reach. */
const FIRST = new Date('2020-01-01T00:00:00Z')
const END = new Date('9999-01-01T00:00:00Z')

/**
 * The number of a merchant's resources per status (S11). It reads the counts of days, those of minutes at the ends of the range,
 * and the resources of the incomplete minutes there, so its cost does not grow with their number. Every change that was
 * answered before is counted: the summary waits until none of them is pending. Throws `Unavailable` after 3 s of that.
 */
export async function summarize<D extends SummarizedResource, Status extends string>(
  deps: SummaryDeps<D, Status>,
  request: SummaryRequest,
): Promise<Readonly<Record<Status, number>>> {
  await awaitCounted(deps, request)
  const from = later(request.created_from ?? FIRST, FIRST)
  const to = request.created_to && request.created_to < END ? request.created_to : END
  const { days, minutes, rest } = divideRange({ from, to })
  const parts = await Promise.all([
    readCounts(deps, request, days, 'day'),
    ...minutes.map((part) => readCounts(deps, request, part, 'minute')),
    ...rest.map((part) => countOneByOne(deps, request, part)),
  ])
  return sumCounts(parts.flat(), deps.statuses)
}

function later(a: Date, b: Date): Date {
  return a > b ? a : b
}

async function readCounts<D extends SummarizedResource>(
  { counts }: AnySummaryDeps<D>,
  { merchant_id, environment }: SummaryRequest,
  range: TimeRange,
  unit: 'day' | 'minute',
): Promise<StatusCounts[]> {
  const found: StatusCounts[] = []
  if (range.from >= range.to) return found
  const periods = periodsOf(range, unit)
  for await (const period of readPeriods(counts, merchant_id, environment, periods)) {
    found.push(...countsWithin(period, range))
  }
  return found
}

const FIND_MAX = 1_000

/** Counts the resources of less than a minute one by one: as many as a merchant can create in a minute. */
async function countOneByOne<D extends SummarizedResource>(
  { collection }: AnySummaryDeps<D>,
  { merchant_id, environment }: SummaryRequest,
  { from, to }: TimeRange,
): Promise<StatusCounts[]> {
  const range = { equals: [merchant_id, environment], from, to }
  const found: StatusCounts[] = []
  for await (const { status } of readAll(collection, 'list', range)) found.push({ [status]: 1 })
  return found
}

const WAIT_MS = 3_000
const CHECK_MS = 20

/** Waits until the changes that are pending now are counted, also those that a crashed process has left. */
async function awaitCounted<D extends SummarizedResource>(
  { collection, keyOf }: AnySummaryDeps<D>,
  request: SummaryRequest,
): Promise<void> {
  const until_ms = clock.monotonic_ms() + WAIT_MS
  const range = { equals: [request.merchant_id, request.environment] }
  const assertInTime = (): void => {
    if (clock.monotonic_ms() >= until_ms) throw new Unavailable('changes of status are still being counted')
  }
  for await (const waiting of readAll(collection, 'by_uncounted', range)) {
    const ids = pendingCounts(waiting)
    const isCounted = async (): Promise<boolean> => {
      const current = await collection.get(keyOf(waiting))
      return !current || !pendingCounts(current).some((id) => ids.includes(id))
    }
    for (assertInTime(); !(await isCounted()); assertInTime()) await sleep(CHECK_MS)
  }
}

/** All documents of a range, read in pages. */
async function* readAll<D extends object>(
  collection: Pick<Collection<D>, 'find'>,
  index: string,
  range: Range,
): AsyncGenerator<D> {
  for (let after: D | undefined; ; ) {
    const page: D[] = await collection.find(index, range, {
      limit: FIND_MAX,
      ...(after ? { after: { ...after } as Readonly<Record<string, unknown>> } : {}),
    })
    yield* page
    after = page.length === FIND_MAX ? page.at(-1) : undefined
    if (!after) return
  }
}

function pendingCounts({ effects }: CountedResource): readonly string[] {
  return effects.filter((effect) => countStatusEffect.matches(effect)).map(({ id }) => id)
}
