import type { Environment } from '#lib/contract/environment.ts'
import { Unavailable } from '#lib/contract/errors/unavailable.ts'
import type { HttpClient } from '#lib/platform/http/client.ts'
import { HttpFailure } from '#lib/platform/http/http-failure.ts'
import type { AttemptFailure } from '../domain/delivery.ts'

/** The result of one POST: the HTTP status of the response, or why the attempt failed. */
export interface PostResult {
  readonly http_status?: number
  readonly failure?: AttemptFailure
}

/** Posts a body to a callback URL once. */
export type PostDelivery = (
  url: string,
  headers: Readonly<Record<string, string>>,
  body: Uint8Array,
  timeout_ms: number,
  environment: Environment,
) => Promise<PostResult>

/** How much of the response body is read, and how long after its header. Only the status counts (N4). */
const RESPONSE_MAX_BYTES = 64 * 1024
const RESPONSE_GRACE_MS = 1_000

/**
 * Posts callbacks with the HTTP client of each environment. A receiver that cannot be reached or sends an invalid
 * response is a `failure` in the result. A request that `stopping` aborts throws `Unavailable` instead: another process
 * tries again, and it does not count as an attempt of the delivery.
 */
export function createPostDelivery(
  clients: Readonly<Record<Environment, HttpClient>>,
  stopping: AbortSignal,
): PostDelivery {
  return async (url, headers, body, timeout_ms, environment) => {
    try {
      const { status: http_status } = await clients[environment].request({
        method: 'POST',
        url,
        headers,
        body,
        timeout_ms,
        response_max_bytes: RESPONSE_MAX_BYTES,
        body_grace_ms: RESPONSE_GRACE_MS,
        signal: stopping,
      })
      return { http_status }
    } catch (error) {
      if (!(error instanceof HttpFailure)) throw error
      if (stopping.aborted) throw new Unavailable('the process is stopping', { cause: error })
      return { failure: error.reason }
    }
  }
}
