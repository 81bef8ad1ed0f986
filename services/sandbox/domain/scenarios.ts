/** What a provider can be asked to do. */
export type Kind = 'deposit' | 'withdrawal' | 'refund'

/** How an operation can end. */
export interface Verdict {
  readonly status: 'success' | 'declined' | 'canceled'
  /** A code of the error table; a success has none. */
  readonly code?: number
}

/**
 * How a creation is answered: in the protocol's own form (a report or a refusal, the latter also under an HTTP 500),
 * or in one of the ways in which real providers leave their caller without a proper answer. Whatever the answer, the
 * operation was stored before it.
 */
export type AnswerForm =
  | 'report'
  | 'refusal'
  | 'refusal_500'
  | 'silence'
  | 'reset'
  | 'bare_500'
  | 'foreign_body'

/** What a callback says: how the operation ended, the same with another amount, or that it is still pending. */
export type CallbackForm = 'verdict' | 'other_amount' | 'pending'

/** Everything that the last three digits decide about an operation. */
export interface Scenario {
  readonly answer: AnswerForm
  readonly verdict: Verdict
  /** `later` is after the completion delay. */
  readonly settles: 'at_once' | 'later' | 'never'
  /** The callbacks after the operation has settled, in the order in which they are sent. */
  readonly callbacks: readonly CallbackForm[]
}

const ORDINARY: Scenario = {
  answer: 'report',
  verdict: { status: 'success' },
  settles: 'later',
  callbacks: ['verdict'],
}
const AT_ONCE: Scenario = { ...ORDINARY, settles: 'at_once', callbacks: [] }
const FOUND_BY_POLLING: Scenario = { ...ORDINARY, callbacks: [] }
const DECLINED: Verdict = { status: 'declined', code: 6044 }

/** What differs from an ordinary operation, by the last three digits of the amount in minor units. */
const BY_DIGITS: Readonly<Record<string, Scenario>> = {
  901: { ...AT_ONCE, verdict: DECLINED },
  902: { ...ORDINARY, verdict: DECLINED },
  903: { ...FOUND_BY_POLLING, answer: 'silence' },
  904: { ...FOUND_BY_POLLING, answer: 'reset' },
  905: { ...FOUND_BY_POLLING, settles: 'never' },
  906: { ...ORDINARY, verdict: { status: 'canceled', code: 6012 } },
  907: { ...AT_ONCE, answer: 'refusal_500', verdict: { status: 'declined', code: 7001 } },
  908: AT_ONCE,
  909: { ...ORDINARY, callbacks: ['other_amount', 'verdict', 'pending'] },
  910: FOUND_BY_POLLING,
  913: { ...FOUND_BY_POLLING, answer: 'bare_500' },
  915: { ...FOUND_BY_POLLING, answer: 'foreign_body' },
}

/** A withdrawal is canceled by the provider, since no customer takes part in it. */
const WITHDRAWALS: Readonly<Record<string, Scenario>> = {
  ...BY_DIGITS,
  906: { ...ORDINARY, verdict: { status: 'canceled', code: 6034 } },
}

/** A refund succeeds at once unless the digits of its deposit are about refunds. */
const REFUNDS: Readonly<Record<string, Scenario>> = {
  911: { ...AT_ONCE, verdict: DECLINED },
  912: ORDINARY,
  914: { ...FOUND_BY_POLLING, answer: 'reset' },
}

/** What happens to a deposit or a withdrawal. */
export function paymentScenario(kind: 'deposit' | 'withdrawal', amount: bigint): Scenario {
  return (kind === 'deposit' ? BY_DIGITS : WITHDRAWALS)[lastDigits(amount)] ?? ORDINARY
}

/** What happens to a refund. The deposit's digits decide: those of a partial refund are nobody's choice. */
export function refundScenario(deposit_amount: bigint): Scenario {
  return REFUNDS[lastDigits(deposit_amount)] ?? AT_ONCE
}

/** An operation that is refused on its merits; the refusal is kept, so that the same key is refused for ever. */
export function refusedScenario(code: number): Scenario {
  return { ...AT_ONCE, answer: 'refusal', verdict: { status: 'declined', code } }
}

function lastDigits(amount: bigint): string {
  return String(amount % 1000n)
}
