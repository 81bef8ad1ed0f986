import type { HttpClient } from '#lib/http/client.ts'
import { HttpFailure } from '#lib/http/failure.ts'
import type { AttemptParts } from './attempt.ts'

/** Of an answer's body so much is read, for so long: only its status counts (N4). */
const ANSWER_MAX_BYTES = 64 * 1024
const ANSWER_GRACE_MS = 1_000

/** Posts callbacks over HTTP. A receiver that cannot be reached, or answers badly, is a word and no fault of ours. */
export function postDelivery(http: HttpClient): AttemptParts['post'] {
  return async (url, headers, body, timeout_ms) => {
    try {
      const { status: http_status } = await http.request({
        method: 'POST',
        url,
        headers,
        body,
        timeout_ms,
        response_max_bytes: ANSWER_MAX_BYTES,
        body_grace_ms: ANSWER_GRACE_MS,
      })
      return { http_status }
    } catch (error) {
      if (error instanceof HttpFailure) return { failure: error.reason }
      throw error
    }
  }
}
