import type { Environment } from '#lib/contract/environment.ts'
import { Unavailable } from '#lib/contract/errors/unavailable.ts'
import type { HttpClient } from '#lib/platform/http/client.ts'
import { HttpFailure } from '#lib/platform/http/http-failure.ts'
import type { AttemptParts } from './attempt.ts'

/** Of an answer's body so much is read, for so long: only its status counts (N4). */
const ANSWER_MAX_BYTES = 64 * 1024
const ANSWER_GRACE_MS = 1_000

/**
 * Posts callbacks over HTTP. A receiver that cannot be reached, or answers badly, is a word and no fault of ours; what
 * `stopping` breaks off is one (`Unavailable`): the next process tries again, and the receiver loses no attempt.
 */
export function postDelivery(
  clients: Readonly<Record<Environment, HttpClient>>,
  stopping: AbortSignal,
): AttemptParts['post'] {
  return async (url, headers, body, timeout_ms, environment) => {
    try {
      const { status: http_status } = await clients[environment].request({
        method: 'POST',
        url,
        headers,
        body,
        timeout_ms,
        response_max_bytes: ANSWER_MAX_BYTES,
        body_grace_ms: ANSWER_GRACE_MS,
        signal: stopping,
      })
      return { http_status }
    } catch (error) {
      if (!(error instanceof HttpFailure)) throw error
      if (stopping.aborted) throw new Unavailable('the process stops', { cause: error })
      return { failure: error.reason }
    }
  }
}
