import { Unavailable } from '#lib/contract/errors/unavailable.ts'
import type { TicketStatus } from '#lib/contract/ticket.ts'
import { clock, sleep } from '#lib/platform/time.ts'
import { countsWithin, divideRange, periodsOf, type TimeRange } from '../domain/count-periods.ts'
import { type StatusCounts, sumCounts } from '../domain/status-counts.ts'
import type { Ticket } from '../domain/ticket.ts'
import { countStatusEffect } from '../domain/ticket-effects.ts'
import { readPeriods } from '../store/period-counts.ts'
import { keyOfTicket } from '../store/tickets.ts'
import type { TicketDeps } from './deps.ts'

/** Which tickets of a merchant to count: those that were created from `created_from` to before `created_to`. */
export interface SummaryRequest extends Pick<Ticket, 'merchant_id' | 'environment'> {
  readonly created_from?: Date
  readonly created_to?: Date
}

type SummaryDeps = Pick<TicketDeps, 'tickets' | 'ticket_counts'>

/** No ticket is older than this system, and none is created in a later year than dates of four digits reach. */
const FIRST = new Date('2020-01-01T00:00:00Z')
const END = new Date('9999-01-01T00:00:00Z')

/**
 * The merchant's `ticket.summary`: the number of tickets per status (S11). It reads the counts of days, those of minutes at
 * the ends of the range, and the tickets of the incomplete minutes there, so its cost does not grow with the number of
 * tickets. Every change that was answered before is counted: the summary waits until none of them is pending.
 */
export async function summarizeTickets(
  deps: SummaryDeps,
  request: SummaryRequest,
): Promise<Readonly<Record<TicketStatus, number>>> {
  await awaitCounted(deps, request)
  const from = later(request.created_from ?? FIRST, FIRST)
  const to = request.created_to && request.created_to < END ? request.created_to : END
  const { days, minutes, rest } = divideRange({ from, to })
  const parts = await Promise.all([
    readCounts(deps, request, days, 'day'),
    ...minutes.map((part) => readCounts(deps, request, part, 'minute')),
    ...rest.map((part) => countTickets(deps, request, part)),
  ])
  return sumCounts(parts.flat())
}

function later(a: Date, b: Date): Date {
  return a > b ? a : b
}

async function readCounts(
  { ticket_counts }: SummaryDeps,
  { merchant_id, environment }: SummaryRequest,
  range: TimeRange,
  unit: 'day' | 'minute',
): Promise<StatusCounts[]> {
  const found: StatusCounts[] = []
  if (range.from >= range.to) return found
  const periods = periodsOf(range, unit)
  for await (const counts of readPeriods(ticket_counts, merchant_id, environment, periods)) {
    found.push(sumCounts(countsWithin(counts, range)))
  }
  return found
}

const FIND_MAX = 1_000

/** Counts the tickets of less than a minute one by one: as many as a merchant can create in a minute. */
async function countTickets(
  { tickets }: SummaryDeps,
  { merchant_id, environment }: SummaryRequest,
  { from, to }: TimeRange,
): Promise<StatusCounts[]> {
  const range = { equals: [merchant_id, environment], from, to }
  const found: StatusCounts[] = []
  for (let after: Ticket | undefined; ; ) {
    const page = await tickets.find('list', range, {
      limit: FIND_MAX,
      ...(after ? { after: { ...after } } : {}),
    })
    found.push(...page.map(({ status }) => ({ [status]: 1 })))
    after = page.length === FIND_MAX ? page.at(-1) : undefined
    if (!after) return found
  }
}

const WAIT_MS = 3_000
const CHECK_MS = 20

/** Waits until the changes that are pending now are counted, also those that a crashed process has left. */
async function awaitCounted({ tickets }: SummaryDeps, request: SummaryRequest): Promise<void> {
  const until_ms = clock.monotonic_ms() + WAIT_MS
  const range = { equals: [request.merchant_id, request.environment] }
  const pending = await tickets.find('by_uncounted', range, { limit: FIND_MAX })
  for (const ticket of pending) {
    const ids = pendingCounts(ticket)
    for (
      let current: Ticket | undefined = ticket;
      current;
      current = await tickets.get(keyOfTicket(ticket))
    ) {
      if (!pendingCounts(current).some((id) => ids.includes(id))) break
      if (clock.monotonic_ms() >= until_ms)
        throw new Unavailable('changes of tickets are still being counted')
      await sleep(CHECK_MS)
    }
  }
}

function pendingCounts({ effects }: Ticket): readonly string[] {
  return effects.filter((effect) => countStatusEffect.matches(effect)).map(({ id }) => id)
}
