import type { RoleName } from '#lib/role/role.ts'
import type { History } from '../workload/history.ts'
import type { SimulatedMerchant } from '../workload/merchants.ts'
import type { ProviderOperation } from '../world/provider/operation.ts'
import type { RefundOrder } from '../world/provider/requests.ts'
import type { ReceivedCallback } from '../world/receiver.ts'

/** Where the documents of a role are: its simulated database, or what the RPCs of a real one returned. */
export interface DocumentSource {
  named(collection: string): { all(): Iterable<object> } | undefined
}

/** What the invariants compare: the databases, the outside world, and what merchants know. */
export interface Evidence {
  readonly databases: ReadonlyMap<RoleName, DocumentSource>
  readonly operations: readonly ProviderOperation[]
  readonly callbacks: readonly ReceivedCallback[]
  /** The refunds that providers were asked for, each as often as it was sent. */
  readonly refund_orders?: readonly RefundOrder[]
  readonly history: History
  readonly merchants: readonly SimulatedMerchant[]
  /** Whether it is certain that nothing failed. */
  readonly is_faultless?: boolean
  /** Whether a day has passed since the last request. */
  readonly is_day_over?: boolean
  /** The payments, refunds and chargebacks that the system lost when it was restored, to that kind of backup. */
  readonly lost?: ReadonlySet<string>
  readonly kind?: 'instant' | 'ordered' | 'between attempts'
}

/** Finds violations in the evidence at the end of a simulation. */
export type Invariant = (evidence: Evidence) => Iterable<string>

/** The fields of a refund of a stored payment that the invariants read. */
export interface StoredRefund {
  readonly refund_id: string
  readonly amount: bigint
  readonly state: string
  readonly change_number: number
  readonly holds: number
  readonly hold_refusal?: number
  readonly approved_at?: Date
}

/** The fields of a chargeback of a stored payment that the invariants read. */
export interface StoredChargeback {
  readonly chargeback_id: string
  readonly amount: bigint
  readonly is_won: boolean
}

/** The fields of a stored payment that the invariants read. */
export interface StoredPayment {
  readonly merchant_id: string
  readonly c_id: string
  readonly direction: 'in' | 'out'
  readonly service_id: string
  readonly payment_id: string
  readonly h_id: string
  readonly amount: bigint
  readonly currency: string
  readonly status: string
  readonly history: readonly { readonly status: string; readonly amount: bigint }[]
  /** The attempt of a payment that is admitted, and the one that it was paid at when that is another one. */
  readonly attempt?: { readonly number: number }
  readonly attempts?: readonly { readonly is_hold_unknown?: boolean }[]
  readonly paid_attempt?: number
  readonly effects: readonly {
    readonly id: string
    readonly kind: string
    readonly stuck?: boolean
    readonly data?: Readonly<Record<string, unknown>>
  }[]
  readonly webhook?: { readonly url: string }
  /** What is known of a payment that was open in a backup. */
  readonly restored?: string
  readonly refunds?: readonly StoredRefund[]
  readonly chargebacks?: readonly StoredChargeback[]
  readonly reservation_refusals?: readonly { readonly id: string; readonly code: number }[]
}

/** The late lookups of a payment and of its refunds: they wait for an hour and longer. */
const LATE_LOOKUPS = ['look_up_late']

/** The effects of a payment that must end before the simulation does. */
export function unfinishedEffects({ effects }: StoredPayment): StoredPayment['effects'] {
  return effects.filter(({ kind, stuck = false }) => stuck || !LATE_LOOKUPS.includes(kind))
}

/** The late lookups that a payment waits for. */
export function lateLookups({ effects }: StoredPayment): StoredPayment['effects'] {
  return effects.filter(({ kind }) => LATE_LOOKUPS.includes(kind))
}

/** The documents of a collection, by the type that the caller expects. */
export function documentsOf<T>(
  databases: Evidence['databases'],
  role: RoleName,
  collection: string,
): readonly T[] {
  // The product stored them in this form.
  return [...(databases.get(role)?.named(collection)?.all() ?? [])] as T[]
}

/** All payments, without the refused withdrawals of a restored backup: these only keep their `c_id` (P19). */
export function paymentsOf({ databases }: Pick<Evidence, 'databases'>): readonly StoredPayment[] {
  return documentsOf<StoredPayment>(databases, 'payments', 'payments').filter(
    (payment) => !isKeptRefusal(payment),
  )
}

/** Whether the ledger refused after a restore what its provider may have paid after the backup (P19). */
export function isKeptRefusal({ status, restored }: StoredPayment): boolean {
  return status === 'refused' && restored !== undefined
}
