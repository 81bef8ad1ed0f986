import type { CallResult, LookupResult, ProviderStatus } from './domain/call-result.ts'
import { asPaid, type Payment } from './domain/payment.ts'

/** What the account of one attempt has said: whether it may still be paid there, and whether it was ever called paid. */
interface AttemptBook {
  readonly may_be_open: boolean
  readonly was_paid: boolean
  /** Called paid with another amount: the operator must know, and nothing else follows (P7). */
  readonly was_paid_otherwise: boolean
}

/** A naive account of a payment's attempts, which knows nothing of the rules: only what was sent, and what was said. */
export interface AttemptBooks {
  /** A request of the attempt leaves. Returns the other attempts that may be paid. */
  send(attempt: number): readonly number[]
  /** An account says something about an attempt: in a response, a lookup or a callback. */
  hear(attempt: number, result: CallResult | LookupResult, requested: bigint): void
  /** The attempts that may be paid, as far as their accounts have said. */
  mayBePaid(): readonly number[]
  /** The attempts that an account has called paid although they are not the one that paid the payment. */
  unexplained(payment: Payment): readonly number[]
}

const UNKNOWN: AttemptBook = { may_be_open: false, was_paid: false, was_paid_otherwise: false }

/** Opens the books of one payment. */
export function openAttemptBooks(): AttemptBooks {
  const books = new Map<number, AttemptBook>()
  const change = (attempt: number, changes: Partial<AttemptBook>): void => {
    books.set(attempt, { ...UNKNOWN, ...books.get(attempt), ...changes })
  }
  const mayBePaid = (): number[] =>
    [...books].filter(([, book]) => book.may_be_open || book.was_paid).map(([attempt]) => attempt)
  return {
    mayBePaid,
    send(attempt) {
      const others = mayBePaid().filter((other) => other !== attempt)
      change(attempt, { may_be_open: true })
      return others
    },
    hear(attempt, result, requested) {
      const is_other = 'amount' in result && result.amount !== undefined && result.amount.minor !== requested
      switch (result.kind) {
        case 'success':
          return change(
            attempt,
            is_other ? { was_paid_otherwise: true } : { may_be_open: true, was_paid: true },
          )
        case 'pending':
          return change(attempt, { may_be_open: true })
        case 'not_sent':
          return change(attempt, { may_be_open: false })
        case 'declined':
        case 'canceled':
          // A message about another amount proves nothing about this operation (P7).
          return is_other ? undefined : change(attempt, { may_be_open: false })
      }
    },
    unexplained(payment) {
      const is_paid = payment.status === 'success'
      return [...books]
        .filter(([attempt, { was_paid, was_paid_otherwise }]) => {
          const explains = is_paid && attempt === asPaid(payment).attempt.number
          return was_paid_otherwise || (was_paid && !explains)
        })
        .map(([attempt]) => attempt)
    },
  }
}

/** A result of this kind, as every connector reports it. */
export function statusOf(kind: ProviderStatus['kind'], minor: bigint, at: Date): ProviderStatus {
  const named = { provider_id: 'p-1', amount: { minor, currency: 'INR' } }
  switch (kind) {
    case 'success':
      return { kind, ...named, completed_at: at }
    case 'pending':
      return { kind, ...named }
    default:
      return { kind, ...named, code: 6044 }
  }
}
