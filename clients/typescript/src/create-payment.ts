import { MultihubError, OutcomeUnknownError, RefusalError, TransportError } from './errors.ts'
import type { Payment, PaymentInResult, PaymentStatusResult } from './gen/types.ts'
import {
  isCredentialRefused,
  isNotSent,
  isUnanswered,
  pause,
  type RetrySettings,
  waitAfter,
} from './retry.ts'

/** What creating a payment needs. `send` sends the same bytes each time, `lookUp` calls `payment.status` and repeats it. */
export interface CreatePaymentDeps {
  settings: RetrySettings & { version: 'v1' | 'v2' }
  send: () => Promise<PaymentInResult>
  lookUp: (began_ms: number) => Promise<PaymentStatusResult>
}

/** How a payment is created. */
export interface CreatePaymentOptions {
  /** Set it when this request may have been sent before, by a process that ended since. */
  resume?: boolean | undefined
  signal?: AbortSignal | undefined
}

/** The payment as the create or the look-up showed it. Only the answer to a create shows `receiver.bank`. */
export type CreatedPaymentResult = PaymentInResult

/** The parts of a request that say whether a payment is the one that it creates. */
export interface WantedPayment {
  c_id: string
  destination: 'in' | 'out'
  value: bigint | number
  currency: string
  service_id: number
  /** The account of the recipient of a withdrawal. */
  account_id: string | undefined
}

/** A duplicate that was created this long ago, by either clock, can be this very request, sent twice on the way. */
const RECENT_MS = 300_000
const NOT_FOUND = 6010
const DUPLICATE = 6009

/**
 * Creates a payment at most once, whatever happens to the answers. After an answer that was lost it looks the payment up; if
 * it does not exist yet, the look-up may have overtaken the create, so the same bytes are sent again. Only a signed refusal, or
 * that no create has left, says that there is no payment; everything else ends in `OutcomeUnknownError`.
 */
export async function createPaymentOnce(
  deps: CreatePaymentDeps,
  wanted: WantedPayment,
  options: CreatePaymentOptions,
): Promise<CreatedPaymentResult> {
  const { resume = false, signal } = options
  if (!resume) signal?.throwIfAborted()
  try {
    return await sendUntilDecided(deps, wanted, options)
  } catch (error) {
    // What was sent before the signal was aborted can have created the payment.
    if (signal?.aborted && !(error instanceof MultihubError))
      throw new OutcomeUnknownError(wanted.c_id, signal.reason)
    throw error
  }
}

async function sendUntilDecided(
  deps: CreatePaymentDeps,
  wanted: WantedPayment,
  { resume = false, signal }: CreatePaymentOptions,
): Promise<CreatedPaymentResult> {
  const { settings } = deps
  const { c_id } = wanted
  const began_ms = Date.now()
  let may_exist = resume
  let is_sent = resume
  for (let tries = 1; ; tries += 1) {
    const outcome = await attempt(() => deps.send(), c_id)
    if ('result' in outcome) return outcome.result
    const { error } = outcome
    // After a try that was sent, another that was not proves nothing: the refusal of the first can be an older answer.
    is_sent ||= !isNotSent(error)
    const is_undecided = (isUnanswered(error) && is_sent) || retryOf(error) === 'check_status'
    may_exist ||= is_undecided
    const wait_ms = waitAfter(error, tries, began_ms, settings)
    if (wait_ms !== undefined) await pause(wait_ms, signal)
    const is_duplicate = codeOf(error) === DUPLICATE
    // On v1 the refusal can be the answer to an earlier request.
    const may_be_stale = settings.version === 'v1' && wait_ms === undefined && !is_duplicate && is_sent
    if (may_exist || may_be_stale || is_duplicate) {
      const found = await attempt(() => deps.lookUp(began_ms), c_id)
      if ('result' in found) {
        const { payment } = found.result
        const is_recent = Date.parse(payment.timestamps.created) >= began_ms - RECENT_MS
        if (isSame(payment, wanted) && (may_exist || may_be_stale || is_recent)) return found.result
        if (error instanceof RefusalError) throw error
      } else if (isCredentialRefused(error) && isCredentialRefused(found.error)) {
        throw new OutcomeUnknownError(c_id, found.error)
      } else if (wait_ms === undefined && codeOf(found.error) !== NOT_FOUND) {
        if (may_exist || !isRefusedAlike(error, found.error)) throw new OutcomeUnknownError(c_id, found.error)
      }
    }
    const is_late = Date.now() - began_ms > settings.deadline_ms
    if (wait_ms !== undefined && !is_late) continue
    const is_open = is_undecided || (may_exist && wait_ms !== undefined)
    throw is_open ? new OutcomeUnknownError(c_id, error) : error
  }
}

/** Whether a payment is the wanted one, by all that its answer shows. */
function isSame({ amount, destination, service_id, receiver }: Payment, wanted: WantedPayment): boolean {
  const account_id = receiver?.bank_account?.id
  return (
    amount.value === BigInt(wanted.value) &&
    amount.currency === wanted.currency &&
    destination === wanted.destination &&
    (service_id === undefined || service_id === Number(wanted.service_id)) &&
    (account_id === undefined || wanted.account_id === undefined || account_id === wanted.account_id)
  )
}

/**
 * Whether the look-up was refused for the reason of the create: one that concerns any request, such as the credential (3xxx)
 * or a field (9000).
 */
function isRefusedAlike(error: MultihubError, problem: MultihubError): boolean {
  const code = codeOf(error)
  if (code === undefined || code !== codeOf(problem)) return false
  return Math.floor(code / 1000) === 3 || code === 9000
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
