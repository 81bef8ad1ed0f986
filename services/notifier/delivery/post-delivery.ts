import { clock, now } from '#lib/base/time.ts'
import type { Environment } from '#lib/contract/environment.ts'
import { Unavailable } from '#lib/contract/errors/unavailable.ts'
import { allowAnyAddress } from '#lib/http/address-policy.ts'
import { checkCallbackUrl } from '#lib/http/callback-url.ts'
import type { HttpClient } from '#lib/http/client.ts'
import { HttpFailure, OWN_FAILURES } from '#lib/http/http-failure.ts'
import type { AttemptResult } from '../domain/attempt.ts'
import type { SignedHeaders } from './sign-delivery.ts'

interface DeliveryRequest {
  readonly url: string
  readonly environment: Environment
  readonly body: Uint8Array
  /** From the name lookup to the complete header of the response (N4). */
  readonly timeout_ms: number
  /** Signs the body. Called when a connection is available, which is when the attempt starts (N7). */
  readonly sign: (started_at: Date) => SignedHeaders
}

/**
 * Posts a callback once. The result has the HTTP status of the response, or why there is none. Throws `Unavailable` when
 * the attempt does not count, because it ended for a reason of this system: it is stopping, or has no connection, socket
 * or name server (N7).
 */
export type PostDelivery = (request: DeliveryRequest) => Promise<AttemptResult>

/** How much of the response body is read, and how long after its header. Only the status counts (N4). */
const RESPONSE_MAX_BYTES = 64 * 1024
const RESPONSE_GRACE_MS = 1_000
const RESPONSE_KEPT_BYTES = 4 * 1024
/** How long an attempt waits for a connection to its receiver while others use all of them. */
const CONNECTION_WAIT_MS = 5_000

/**
 * Makes the function that posts callbacks with the HTTP client of each environment. It checks the text of the URL again
 * before each attempt, and the client checks the address that it connects to (N9).
 */
export function createPostDelivery(
  clients: Readonly<Record<Environment, Pick<HttpClient, 'request'>>>,
  stopping: AbortSignal,
): PostDelivery {
  return async ({ url, environment, body, timeout_ms, sign }) => {
    let started_at = now()
    let began_ms = clock.monotonic_ms()
    const attempt = () => ({ started_at, duration_ms: Math.round(clock.monotonic_ms() - began_ms) })
    if (!checkCallbackUrl(url, { environment, allow: allowAnyAddress }).ok)
      return { ...attempt(), failure: 'refused_url' }
    try {
      const response = await clients[environment].request({
        method: 'POST',
        url,
        createHeaders() {
          started_at = now()
          began_ms = clock.monotonic_ms()
          return sign(started_at)
        },
        body,
        timeout_ms,
        is_repeatable: true,
        connection_wait_ms: CONNECTION_WAIT_MS,
        response_max_bytes: RESPONSE_MAX_BYTES,
        response_kept_bytes: RESPONSE_KEPT_BYTES,
        body_grace_ms: RESPONSE_GRACE_MS,
        signal: stopping,
      })
      return { ...attempt(), http_status: response.status, response_start: response.body }
    } catch (error) {
      if (!(error instanceof HttpFailure)) throw error
      if (OWN_FAILURES.has(error.reason))
        throw new Unavailable(`the attempt was not made: ${error.reason}`, { cause: error })
      return { ...attempt(), failure: error.reason }
    }
  }
}
