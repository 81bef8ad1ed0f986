import type { AttemptResult } from './attempt.ts'
import type { Verdict } from './breaker.ts'
import type { AttemptFailure } from './delivery.ts'
import { isOrigin } from './destination.ts'

/** The failures that concern every URL of an origin: there was no connection, no TLS session or no response in time. */
const FAILURES_OF_ORIGIN: ReadonlySet<AttemptFailure> = new Set([
  'dns',
  'refused_address',
  'refused',
  'tls',
  'timeout_connect',
  'timeout',
  'reset',
])

/**
 * What an attempt says about its destination (N5). Every failure of an endpoint counts. An origin has many URLs, so a 404, a
 * redirect or a response that is not HTTP concerns one delivery.
 */
export function judgeAttempt(
  destination_key: string,
  { failure, http_status = 0 }: Pick<AttemptResult, 'failure' | 'http_status'>,
): Verdict {
  if (failure === undefined) return 'success'
  if (!isOrigin(destination_key) || FAILURES_OF_ORIGIN.has(failure) || http_status === 429) return 'failure'
  return http_status >= 500 ? 'server_error' : 'unrelated'
}
