import type { GetOverviewResponse } from '#gen/multihub/backoffice/v1/overview_service_pb.ts'

/** A number of the overview above this is not exact (O18). */
export const COUNT_MAX = 1_000

/** Something that waits: its field of the overview, how people call it, and the list behind it. */
export interface OpenItem {
  readonly field: keyof GetOverviewResponse & `${string}`
  readonly label: string
  readonly page: string
  readonly filters?: string
  /** A second list that has the rest of what the number counts. */
  readonly also?: { readonly label: string; readonly page: string }
}

/** What waits for a person. */
export const FOR_PERSONS: readonly OpenItem[] = [
  { field: 'pendingRefunds', label: 'refunds to approve', page: 'refunds', filters: 'status:pending' },
  {
    field: 'chargebacksByDeadline',
    label: 'chargebacks with a deadline',
    page: 'chargebacks',
    filters: 'status:open,under_review',
  },
  {
    field: 'unresolvedTickets',
    label: 'tickets without an end',
    page: 'tickets',
    filters: 'status:open,in_progress,waiting_customer,on_hold',
  },
  {
    field: 'pendingApprovals',
    label: 'calls for a second person',
    page: 'approvals',
    filters: 'status:pending',
  },
  { field: 'openAnomalies', label: 'anomalies to decide', page: 'anomalies', filters: 'open:yes' },
  {
    field: 'unconfiguredPayments',
    label: 'payments at unconfigured accounts',
    page: 'providers',
  },
]

/** What waits for a machine. */
export const FOR_MACHINES: readonly OpenItem[] = [
  {
    field: 'openBreakers',
    label: 'open circuit breakers of provider accounts',
    page: 'providers',
    also: { label: 'and of receivers', page: 'destinations' },
  },
  {
    field: 'heldDeliveries',
    label: 'callbacks that wait for a receiver',
    page: 'deliveries',
    filters: 'trouble:held',
  },
  { field: 'deadDeliveries', label: 'dead callbacks', page: 'deliveries', filters: 'trouble:dead' },
  { field: 'stuckEffects', label: 'stuck effects', page: 'stuck' },
]

/** The lists whose whole length the overview knows, by their filters. The open breakers are on two pages. */
export function countedBy(path: string, filters: string): OpenItem['field'] | undefined {
  return [...FOR_PERSONS, ...FOR_MACHINES].find(
    (item) => item.filters !== undefined && `/${item.page}` === path && item.filters === filters,
  )?.field
}

/** A number of things that wait. */
export function countText(count: number): string {
  return count >= COUNT_MAX ? `${COUNT_MAX.toLocaleString('en')} or more` : String(count)
}
