import type { CollectionSpec } from '#lib/platform/store/store.ts'

/** The lease of a number that only one live process has. The 18-digit ids of two processes differ by it (P1). */
export interface NumericIdLease {
  readonly number: number
  readonly owner: string
  readonly lease_until: Date
}

/** The collection of leases, one document per number. */
export const NUMERIC_ID_LEASES: CollectionSpec = {
  name: 'numeric_id_leases',
  partition: ['number'],
  key: ['number'],
}
