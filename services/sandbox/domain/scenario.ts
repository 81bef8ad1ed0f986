import { isErrorCode } from '#lib/contract/errors/error-table.ts'
import { isOneOf } from '#lib/patterns/effects/define-effect.ts'

/** The kinds of operation that a provider executes. */
export type OperationKind = 'deposit' | 'withdrawal' | 'refund'

/** The final status of an operation. */
export interface FinalResult {
  readonly status: 'success' | 'declined' | 'canceled'
  /** A code of the error table; absent on success. */
  readonly code?: number
}

/**
 * The response to a create request. It is a report or a refusal of the protocol, the refusal under HTTP 422 or 500, or
 * one of the failures that real providers show: no response, a reset connection, HTTP 500 with a text, or JSON that is
 * not of the protocol. In every case the operation is stored before the response.
 */
export type CreateResponse =
  | 'report'
  | 'refusal'
  | 'refusal_500'
  | 'no_response'
  | 'reset'
  | 'text_500'
  | 'unknown_json'

/** The content of a callback: the final result, the same with another amount, or a status that is still pending. */
export type CallbackContent = 'result' | 'other_amount' | 'pending'

/** Whether a stored value is the content of a callback. */
export const isCallbackContent = isOneOf<CallbackContent>(['result', 'other_amount', 'pending'])

/** How an operation behaves. The last digits of an amount decide it. */
export interface Scenario {
  readonly create_response: CreateResponse
  readonly result: FinalResult
  /** When the operation becomes final: `later` is after the configured delay. */
  readonly completes: 'at_once' | 'later' | 'never'
  /** The callbacks after completion, in the order in which they are sent. */
  readonly callbacks: readonly CallbackContent[]
}

const DECLINED: FinalResult = { status: 'declined', code: 6044 }

const SUCCEEDS_LATER: Scenario = {
  create_response: 'report',
  result: { status: 'success' },
  completes: 'later',
  callbacks: ['result'],
}
const SUCCEEDS_AT_ONCE: Scenario = { ...SUCCEEDS_LATER, completes: 'at_once', callbacks: [] }
const SUCCEEDS_WITHOUT_CALLBACK: Scenario = { ...SUCCEEDS_LATER, callbacks: [] }
const DECLINED_AT_ONCE: Scenario = { ...SUCCEEDS_AT_ONCE, result: DECLINED }
const CONNECTION_RESET: Scenario = { ...SUCCEEDS_WITHOUT_CALLBACK, create_response: 'reset' }

/** The scenarios of deposits by the last three digits of the amount in minor units. Others succeed later. */
const DEPOSITS: Readonly<Record<string, Scenario>> = {
  901: DECLINED_AT_ONCE,
  902: { ...SUCCEEDS_LATER, result: DECLINED },
  903: { ...SUCCEEDS_WITHOUT_CALLBACK, create_response: 'no_response' },
  904: CONNECTION_RESET,
  905: { ...SUCCEEDS_WITHOUT_CALLBACK, completes: 'never' },
  906: { ...SUCCEEDS_LATER, result: { status: 'canceled', code: 6012 } },
  907: { ...SUCCEEDS_AT_ONCE, create_response: 'refusal_500', result: { status: 'declined', code: 7001 } },
  908: SUCCEEDS_AT_ONCE,
  909: { ...SUCCEEDS_LATER, callbacks: ['other_amount', 'result', 'pending'] },
  910: SUCCEEDS_WITHOUT_CALLBACK,
  913: { ...SUCCEEDS_WITHOUT_CALLBACK, create_response: 'text_500' },
  915: { ...SUCCEEDS_WITHOUT_CALLBACK, create_response: 'unknown_json' },
}

/** Withdrawals differ in 906: the provider cancels, because no customer takes part. */
const WITHDRAWALS: Readonly<Record<string, Scenario>> = {
  ...DEPOSITS,
  906: { ...SUCCEEDS_LATER, result: { status: 'canceled', code: 6034 } },
}

/** The scenarios of refunds by the digits of their deposit. Others succeed at once. */
const REFUNDS: Readonly<Record<string, Scenario>> = {
  911: DECLINED_AT_ONCE,
  912: SUCCEEDS_LATER,
  914: CONNECTION_RESET,
}

/**
 * The scenario of a deposit or a withdrawal. Six last digits of `66` and a code of the families 4xxx to 8xxx come first:
 * `667003` is declined with 7003.
 */
export function paymentScenario(kind: 'deposit' | 'withdrawal', amount: bigint): Scenario {
  const code = Number(amount % 1_000_000n) - 660_000
  if (code >= 4000 && code < 9000 && isErrorCode(code))
    return { ...DECLINED_AT_ONCE, result: { status: 'declined', code } }
  return (kind === 'deposit' ? DEPOSITS : WITHDRAWALS)[lastDigits(amount)] ?? SUCCEEDS_LATER
}

/** The scenario of a refund. The amount of its deposit decides, because a partial refund has arbitrary digits. */
export function refundScenario(deposit_amount: bigint): Scenario {
  return REFUNDS[lastDigits(deposit_amount)] ?? SUCCEEDS_AT_ONCE
}

/** The scenario of an invalid refund. The refusal is stored, so that its key is refused permanently. */
export function refusedScenario(code: number): Scenario {
  return { ...SUCCEEDS_AT_ONCE, create_response: 'refusal', result: { status: 'declined', code } }
}

function lastDigits(amount: bigint): string {
  return String(amount % 1000n)
}
