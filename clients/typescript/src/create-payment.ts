import { MultihubError, OutcomeUnknownError, RefusalError, TransportError } from './errors.ts'
import type {
  PaymentInRequest,
  PaymentInResult,
  PaymentOutRequest,
  PaymentStatusResult,
} from './gen/types.ts'
import { isUnanswered, pause, type RetrySettings, waitAfter } from './retry.ts'

/** What creating a payment needs. `send` sends the same bytes each time, `lookUp` calls `payment.status` and repeats it. */
export interface CreatePaymentDeps {
  settings: RetrySettings
  send: () => Promise<PaymentInResult>
  lookUp: (began_ms: number) => Promise<PaymentStatusResult>
}

/** How a payment is created. */
export interface CreatePaymentOptions {
  /** Set it when this request may have been sent before, by a process that ended since. */
  resume?: boolean | undefined
  signal?: AbortSignal | undefined
}

/** What a new payment comes to. */
export type CreatedPaymentResult = PaymentInResult | PaymentStatusResult

/** A duplicate that was created this long ago, by either clock, can be this very request, sent twice on the way. */
const RECENT_MS = 300_000
const NOT_FOUND = 6010
const DUPLICATE = 6009

/**
 * Creates a payment at most once, whatever happens to the answers. After an answer that was lost it looks the payment up; if
 * it does not exist yet, the look-up may have overtaken the create, so the same bytes are sent again. Only a signed refusal
 * says that there is no payment; everything else ends in `OutcomeUnknownError`.
 */
export async function createPaymentOnce(
  deps: CreatePaymentDeps,
  request: PaymentInRequest | PaymentOutRequest,
  destination: 'in' | 'out',
  { resume = false, signal }: CreatePaymentOptions,
): Promise<CreatedPaymentResult> {
  const { settings } = deps
  const { identifiers, amount } = request.params.payment
  const { c_id } = identifiers
  const began_ms = Date.now()
  let may_exist = resume
  for (let tries = 1; ; tries += 1) {
    const outcome = await attempt(() => deps.send(), c_id)
    if ('result' in outcome) return outcome.result
    const { error } = outcome
    const is_undecided = isUnanswered(error, settings) || retryOf(error) === 'check_status'
    may_exist ||= is_undecided
    const wait_ms = waitAfter(error, tries, began_ms, settings)
    if (wait_ms !== undefined) await pause(wait_ms, signal)
    const is_duplicate = codeOf(error) === DUPLICATE
    if (may_exist || is_duplicate) {
      const found = await attempt(() => deps.lookUp(began_ms), c_id)
      if ('result' in found) {
        const { payment } = found.result
        const is_recent = Date.parse(payment.timestamps.created) >= began_ms - RECENT_MS
        const is_same =
          payment.amount.value === BigInt(amount.value) &&
          payment.amount.currency === amount.currency &&
          payment.destination === destination
        if (is_same && (may_exist || is_recent)) return found.result
        if (error instanceof RefusalError) throw error
      } else if (codeOf(found.error) !== NOT_FOUND && wait_ms === undefined) {
        throw new OutcomeUnknownError(c_id, found.error)
      }
    }
    if (wait_ms === undefined) throw is_undecided ? new OutcomeUnknownError(c_id, error) : error
  }
}

/** The result of a call, or its error if it is one that the server or the network caused. */
async function attempt<R extends CreatedPaymentResult>(
  call: () => Promise<R>,
  c_id: string,
): Promise<{ result: R } | { error: MultihubError }> {
  try {
    const result = await call()
    // An answer about another payment is none: a v1 signature does not say to which request it belongs.
    if (result?.payment?.identifiers?.c_id === c_id) return { result }
    return { error: new TransportError('other_request', `the answer is not about the payment ${c_id}`) }
  } catch (error) {
    if (error instanceof MultihubError) return { error }
    throw error
  }
}

function codeOf(error: MultihubError): number | undefined {
  return error instanceof RefusalError ? error.code : undefined
}

function retryOf(error: MultihubError): string | undefined {
  return error instanceof RefusalError ? error.retry : undefined
}
