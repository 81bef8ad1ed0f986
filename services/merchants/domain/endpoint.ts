import type { Environment } from '#lib/contract/environment.ts'
import { fieldError } from '#lib/contract/errors/public-error.ts'
import { type EventName, PAYMENT_EVENTS, SUPPORT_EVENTS } from '#lib/contract/events.ts'
import { requiredText } from '#lib/contract/proto-fields.ts'
import { type CallbackUrlRules, checkCallbackUrl } from '#lib/http/callback-url.ts'
import { checkInteger, checkWords } from './field-checks.ts'

/** A merchant's callback address, as it is stored. */
export interface Endpoint {
  readonly endpoint_id: string
  readonly merchant_id: string
  readonly environment: Environment
  readonly url: string
  readonly events: readonly EventName[]
  readonly timeout_seconds: number
  readonly max_retries: number
  readonly retry_delay_seconds: number
  readonly enabled: boolean
  /** Absent on an endpoint whose secret was never issued (N7): deliveries start when its secret is rotated. */
  readonly sealed_secret?: string
  readonly created_at: Date
  readonly updated_at: Date
}

const EVENTS: readonly EventName[] = [...PAYMENT_EVENTS, ...SUPPORT_EVENTS]

/** Accepts a URL by those rules of N9 that concern its text. The addresses of its host are checked elsewhere. */
export function checkUrl(text: string, rules: CallbackUrlRules): string {
  requiredText(text, 'url')
  const checked = checkCallbackUrl(text, rules)
  if (!checked.ok) throw fieldError(9000, 'url', checked.reason)
  return text
}

/** Accepts names of events and drops repetitions. There is no wildcard (N1). */
export function checkEvents(names: readonly string[]): readonly EventName[] {
  return checkWords(names, 'events', EVENTS)
}

/** Checks the delivery settings of an endpoint (spec: Delivery and retry, 2; N2). Absent fields stay absent. */
export function checkDeliverySettings(
  input: Partial<Record<'timeout_seconds' | 'max_retries' | 'retry_delay_seconds', number>>,
): Partial<Pick<Endpoint, 'timeout_seconds' | 'max_retries' | 'retry_delay_seconds'>> {
  const { timeout_seconds, max_retries, retry_delay_seconds } = input
  return {
    ...(timeout_seconds !== undefined && {
      timeout_seconds: checkInteger(timeout_seconds, 'timeout_seconds', 5, 60),
    }),
    ...(max_retries !== undefined && { max_retries: checkInteger(max_retries, 'max_retries', 1, 10) }),
    ...(retry_delay_seconds !== undefined && {
      retry_delay_seconds: checkInteger(retry_delay_seconds, 'retry_delay_seconds', 1, 3600),
    }),
  }
}
