import type { Actor } from '../parts/simulated-process.ts'
import type { Change } from '../parts/store/memory-collection.ts'

/** Judges how deposits expire. */
export interface ExpiryWatch {
  /** Judges one change of a payment. */
  onChange(change: Change): Iterable<string>
  /** Notes that a process asks the provider about a key. */
  onLookup(idempotency_key: string, sender: Actor): void
}

interface ExpiringPayment {
  readonly status: string
  readonly payment_id: string
  readonly attempt: { readonly number: number }
  readonly expires_at: Date
}

/** Makes the watch of one simulation. */
export function createExpiryWatch(): ExpiryWatch {
  /** When a process has last asked about each key, by its own clock, which also decides what has expired. */
  const looked_up_ms = new Map<string, number>()
  return {
    *onChange({ key, before: old_body, after: new_body }) {
      const [before, after] = [old_body, new_body] as unknown as (ExpiringPayment | undefined)[]
      if (after?.status !== 'declined' || before?.status === 'declined') return
      const { payment_id, attempt, expires_at } = after
      const asked_ms = looked_up_ms.get(`${payment_id}:${attempt.number}`) ?? 0
      if (asked_ms < expires_at.getTime())
        yield `the payment ${key} is declined, and its provider was not asked once more`
    },
    onLookup: (idempotency_key, { now_ms }) => {
      const last_ms = looked_up_ms.get(idempotency_key) ?? 0
      looked_up_ms.set(idempotency_key, Math.max(last_ms, now_ms))
    },
  }
}
