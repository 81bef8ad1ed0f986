import { upsert } from '#lib/patterns/update.ts'
import type { Collection, CollectionSpec } from '#lib/store/store.ts'
import { type PaymentCount, PERIOD_MS, type Period } from '../domain/payment-counts.ts'

/** What one process has counted in one minute or hour. Only that process writes it. */
export interface PaymentRollUp {
  readonly period: Period
  readonly start: Date
  readonly process_id: string
  readonly counts: readonly PaymentCount[]
  /** When the store deletes it. */
  readonly kept_until: Date
}

/** The collection of roll-ups. The key orders those of one length by time. */
export const PAYMENT_COUNTS: CollectionSpec = {
  name: 'payment_counts',
  partition: ['period'],
  key: ['period', 'start', 'process_id'],
  expires: 'kept_until',
}

const KEPT_MS = 2 * 24 * 3_600_000
const READ_SIZE = 1_000

/** Stores the whole count of a period so far. A repetition stores the same, so a lost answer counts nothing twice. */
export async function putRollUp(
  roll_ups: Collection<PaymentRollUp>,
  { period, start, process_id, counts }: Omit<PaymentRollUp, 'kept_until'>,
): Promise<void> {
  const kept_until = new Date(start.getTime() + PERIOD_MS[period] + KEPT_MS)
  await upsert(roll_ups, { period, start, process_id }, () => ({
    period,
    start,
    process_id,
    counts,
    kept_until,
  }))
}

/** The roll-ups of all processes that begin in a range of time. */
export async function* readRollUps(
  roll_ups: Pick<Collection<PaymentRollUp>, 'find'>,
  period: Period,
  { from, to }: { readonly from: Date; readonly to?: Date | undefined },
): AsyncGenerator<PaymentRollUp> {
  for (let after: PaymentRollUp | undefined, has_more = true; has_more; ) {
    const range = { equals: [period], from, to }
    const page = await roll_ups.find('key', range, { limit: READ_SIZE, after: after && { ...after } })
    yield* page
    after = page.at(-1)
    has_more = page.length === READ_SIZE
  }
}
