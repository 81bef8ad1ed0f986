import type { CollectionSpec } from '#lib/store/store.ts'

/**
 * The lease of an instance number, which only one live process has. The 18-digit ids of two processes differ by it
 * (P1).
 */
export interface InstanceNumberLease {
  readonly instance_number: number
  readonly holder: string
  readonly lease_until: Date
}

/** The collection of leases, one document per instance number. */
export const INSTANCE_NUMBER_LEASES: CollectionSpec = {
  name: 'instance_number_leases',
  partition: ['instance_number'],
  key: ['instance_number'],
}
