import { TICKET_STATUSES, type TicketStatus } from '#lib/contract/ticket.ts'

/** The number of tickets per status. A status without tickets can be absent. */
export type StatusCounts = { readonly [Status in TicketStatus]?: number }

/** The counts after one ticket less in `from` and one more in `to`; an empty text means none. Zeros are left out. */
export function moveCount(counts: StatusCounts, from: string, to: string): StatusCounts {
  const entries = TICKET_STATUSES.names.map((status) => {
    const change = Number(status === to) - Number(status === from)
    return [status, (counts[status] ?? 0) + change] as const
  })
  return Object.fromEntries(entries.filter(([, count]) => count !== 0))
}

/** The sum of counts, with every status (S11). */
export function sumCounts(all: readonly StatusCounts[]): Readonly<Record<TicketStatus, number>> {
  const sums = TICKET_STATUSES.names.map(
    (status) => [status, all.reduce((sum, counts) => sum + (counts[status] ?? 0), 0)] as const,
  )
  return Object.fromEntries(sums) as Record<TicketStatus, number>
}
