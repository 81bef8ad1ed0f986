/** An operation in the provider's own books. It is the judge of what was paid. */
export interface ProviderOperation {
  readonly kind: 'deposit' | 'withdrawal' | 'refund'
  readonly account_id: string
  readonly idempotency_key: string
  /** The key of the deposit that a refund pays back. */
  readonly deposit_idempotency_key?: string
  readonly provider_id: string
  readonly amount: number
  readonly currency: string
  readonly method: string
  readonly callback_url: string
  readonly created_ms: number
  /** Infinite for a withdrawal and a refund, which do not expire. */
  readonly expires_ms: number
  status: 'pending' | 'success' | 'declined' | 'canceled'
  completed_ms?: number
  /** Whether Multihub acknowledged, in a callback, that the operation succeeded. */
  is_success_acknowledged: boolean
  /** When the provider lost it permanently, after it had confirmed it; absent otherwise. */
  dropped_ms?: number
  /** Whether the system that asked for it was restored to a backup from before. */
  is_forgotten?: true
}

/** An operation as the provider reports it. */
export interface ProviderReport {
  readonly status: string
  readonly amount: number
  readonly [field: string]: unknown
}

/** The report of an operation with its present status. */
export function reportOf(operation: ProviderOperation): ProviderReport {
  const { kind, idempotency_key, provider_id, status, amount, currency, completed_ms } = operation
  return {
    kind,
    idempotency_key,
    provider_id,
    status,
    amount,
    currency,
    ...(status === 'success' ? { completed_at: new Date(completed_ms ?? 0).toISOString() } : {}),
    ...(status === 'declined' ? { code: 6044 } : {}),
  }
}
