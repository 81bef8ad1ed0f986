import type { RefundOrder } from '../world/provider/requests.ts'

/** A create that a process sends to a provider. */
interface SentCreate {
  readonly key: string
  /** What it asks for, if that is a refund. */
  readonly refund: Pick<RefundOrder, 'deposit_idempotency_key'> | undefined
  readonly origin: string
}

/** Judges where processes send operations whose provider account has moved (P4). */
export interface AccountWatch {
  /** Judges a create. Lookups prove nothing there and may go anywhere. */
  onCreate(create: SentCreate): Iterable<string>
  /** When the operator confirms an account, what was sent before may be sent where it is now. */
  onChange(collection: string): void
}

/** Makes the watch of one simulation, in which one account moves at most. */
export function createAccountWatch(): AccountWatch {
  /** The origin to which each create was sent, since the last confirmation. */
  const sent_to = new Map<string, string>()
  return {
    *onCreate({ key, refund, origin }) {
      for (const name of [key, refund?.deposit_idempotency_key ?? key]) {
        const earlier = sent_to.get(name) ?? origin
        if (earlier !== origin)
          yield `the create ${key} went to ${origin}, ${name} had gone to ${earlier}, and no operator has confirmed that (P4)`
      }
      sent_to.set(key, origin)
    },
    onChange(collection) {
      if (collection === 'payments.known_accounts') sent_to.clear()
    },
  }
}
