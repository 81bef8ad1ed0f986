import { isFinal } from '#lib/contract/payment-status.ts'
import { publishEventEffect } from '#lib/patterns/effects/publish-event.ts'
import type { CallResult, LookupResult, ProviderStatus } from './domain/call-result.ts'
import { asPaid, type Payment } from './domain/payment.ts'
import { EVENT_OF } from './domain/payment-event.ts'
import { canTransition } from './domain/transition.ts'

/** What the account of one attempt has said: whether it may still be paid there, and whether it was ever called paid. */
interface AttemptBook {
  readonly may_be_open: boolean
  /** Called failed last: a repetition of its create is the same operation and opens nothing. */
  readonly has_failed: boolean
  readonly was_paid: boolean
  /** Called paid with another amount: the operator must know, and nothing else follows (P7). */
  readonly was_paid_otherwise: boolean
  /** The last message opened it and may not be stored yet: what an earlier message began may be stored before. */
  readonly is_news: boolean
}

/** A naive account of a payment's attempts, which knows nothing of the rules: only what was sent, and what was said. */
export interface AttemptBooks {
  /** A request of the attempt leaves. Returns the other attempts that may be paid. */
  send(attempt: number): readonly number[]
  /** An account says something about an attempt: in a response, a lookup or a callback. */
  hear(attempt: number, result: CallResult | LookupResult, requested: bigint): void
  /** The process crashes. Which of its messages it had stored is not known here, so none of them proves anything later. */
  forget(): void
  /** A write is stored. Returns the attempts that might be paid, as far as it could know. */
  store(): readonly number[]
  /** The attempts that an account has called paid although they are not the one that paid the payment. */
  unexplained(payment: Payment): readonly number[]
}

const UNKNOWN: AttemptBook = {
  may_be_open: false,
  has_failed: false,
  was_paid: false,
  was_paid_otherwise: false,
  is_news: false,
}

/** Opens the books of one payment. */
export function openAttemptBooks(): AttemptBooks {
  const books = new Map<number, AttemptBook>()
  const change = (attempt: number, changes: Partial<AttemptBook>): void => {
    books.set(attempt, { ...UNKNOWN, ...books.get(attempt), ...changes })
  }
  const mayBePaid = (): [attempt: number, book: AttemptBook][] =>
    [...books].filter(([, { may_be_open, was_paid }]) => may_be_open || was_paid)
  return {
    store() {
      const known = mayBePaid().filter(([, { is_news }]) => !is_news)
      for (const attempt of books.keys()) change(attempt, { is_news: false })
      return known.map(([attempt]) => attempt)
    },
    send(attempt) {
      const others = mayBePaid()
        .map(([other]) => other)
        .filter((other) => other !== attempt)
      change(attempt, { may_be_open: books.get(attempt)?.has_failed !== true })
      return others
    },
    forget() {
      books.clear()
    },
    hear(attempt, result, requested) {
      const is_other = 'amount' in result && result.amount !== undefined && result.amount.minor !== requested
      switch (result.kind) {
        case 'success':
          return change(
            attempt,
            is_other
              ? { was_paid_otherwise: true }
              : { may_be_open: true, has_failed: false, was_paid: true, is_news: true },
          )
        case 'pending': {
          const { may_be_open, is_news } = books.get(attempt) ?? UNKNOWN
          return change(attempt, { may_be_open: true, has_failed: false, is_news: is_news || !may_be_open })
        }
        case 'not_sent':
          return change(attempt, { may_be_open: false })
        case 'declined':
        case 'canceled':
          // A message about another amount proves nothing about this operation (P7).
          return is_other ? undefined : change(attempt, { may_be_open: false, has_failed: true })
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

/** What must hold of every payment, whatever its accounts say. */
export function judgeWrite(before: Payment, after: Payment, may_be_paid: readonly number[]): string[] {
  const faults: string[] = []
  if (isFinal(before.status) && after.status !== before.status) faults.push('a final status has changed')
  for (const [index, { status }] of after.history.slice(1).entries()) {
    const from = after.history[index]?.status ?? 'created'
    if (!canTransition({ ...after, status: from }, status)) faults.push(`moved from ${from} to ${status}`)
  }
  const has_failed = after.status === 'error' || after.status === 'canceled'
  const is_new = has_failed && !isFinal(before.status) && after.operator_decision === undefined
  if (is_new && may_be_paid.length > 0) faults.push(`failed while ${may_be_paid} may be paid`)
  return faults
}

/** The ledger entries and events that follow from the payment's history. */
export function judgeBooks(payment: Payment, entries: readonly string[]): string[] {
  const { payment_id, direction, status, history, effects } = payment
  const out = status === 'success' ? 'capture' : 'release'
  const name = direction === 'out' ? out : status === 'success' ? 'credit' : undefined
  const expected = isFinal(status) && name !== undefined ? [`${payment_id}:${name}`] : []
  const faults = `${entries}` === `${expected}` ? [] : [`the ledger has ${entries} instead of ${expected}`]
  const events = effects.filter(publishEventEffect.matches).length
  const announced = direction === 'in' ? history.slice(1) : history
  const transitions = announced.filter((entry) => EVENT_OF[entry.status]).length
  return events === transitions ? faults : [...faults, `${events} events for ${transitions} transitions`]
}
