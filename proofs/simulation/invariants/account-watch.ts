import type { Actor } from '../parts/simulated-process.ts'
import type { Change } from '../parts/store/memory-collection.ts'
import type { RefundOrder } from '../world/provider/requests.ts'
import { originOfAccount } from '../world/providers.ts'

/** A create that a process sends to a provider. */
interface SentCreate {
  readonly key: string
  /** What it asks for, if that is a refund. */
  readonly refund: Pick<RefundOrder, 'deposit_idempotency_key'> | undefined
  readonly origin: string
}

/** What is stored of an account, as far as it is judged. */
interface StoredAccount {
  readonly account_id: string
  readonly count: number
  readonly switched?: { readonly state: string }
}

/** Judges what processes send to accounts that have moved (P4), or that the operator has disabled (P20). */
export interface AccountWatch {
  /** Judges a create. Lookups prove nothing at a moved account, go on at a disabled one, and may go anywhere. */
  onCreate(create: SentCreate, sender: Actor): Iterable<string>
  /** When the operator confirms an account, what was sent before may be sent where it is now. */
  onChange(collection: string, change: Change, writer: Actor | undefined): void
}

/** Within this time every process obeys the operator. */
const OBEYED_WITHIN_MS = 5_000

/**
 * Makes the watch of one simulation, in which one account moves at most. `sent_to` has the origin to which each create was sent since the
 * last confirmation, also before a restore (P19.8).
 */
export function createAccountWatch(sent_to: Map<string, string>): AccountWatch {
  /** The origins of the disabled accounts, and since when they are. */
  const disabled_ms = new Map<string, number>()
  return {
    *onCreate({ key, refund, origin }, { true_now_ms }) {
      for (const name of [key, refund?.deposit_idempotency_key ?? key]) {
        const earlier = sent_to.get(name) ?? origin
        if (earlier !== origin)
          yield `the create ${key} went to ${origin}, ${name} had gone to ${earlier}, and no operator has confirmed that (P4)`
      }
      sent_to.set(key, origin)
      const late_ms = true_now_ms - (disabled_ms.get(origin) ?? true_now_ms)
      if (late_ms > OBEYED_WITHIN_MS)
        yield `the create ${key} went to ${origin} ${Math.round(late_ms)} ms after the account was disabled (P20)`
    },
    onChange(collection, { before: old_body, after: new_body }, writer) {
      if (collection !== 'payments.known_accounts') return
      const [before, after] = [old_body, new_body] as unknown as (StoredAccount | undefined)[]
      if (after === undefined) return
      if (before?.count !== after.count) sent_to.clear()
      const origin = originOfAccount(after.account_id)
      if (after.switched?.state !== 'disabled') disabled_ms.delete(origin)
      else if (!disabled_ms.has(origin) && writer) disabled_ms.set(origin, writer.true_now_ms)
    },
  }
}
