import type { HttpClient } from '#lib/platform/http/client.ts'
import { HttpFailure } from '#lib/platform/http/http-failure.ts'
import type { Post } from './callbacks.ts'

const TIMEOUT_MS = 10_000
/** Only the status of the answer counts: of the rest so much is read, for so long, to keep the connection. */
const ANSWER_MAX_BYTES = 4096
const ANSWER_GRACE_MS = 1000

/** Sends callbacks: `true` when the receiver acknowledged with HTTP 2xx. Throws for faults of ours only. */
export function postCallback(http: HttpClient): (post: Post) => Promise<boolean> {
  return async ({ url, headers, body, signal }) => {
    try {
      const { status } = await http.request({
        method: 'POST',
        url,
        headers,
        body: Buffer.from(body),
        timeout_ms: TIMEOUT_MS,
        response_max_bytes: ANSWER_MAX_BYTES,
        body_grace_ms: ANSWER_GRACE_MS,
        signal,
      })
      return status >= 200 && status <= 299
    } catch (error) {
      if (error instanceof HttpFailure) return false
      throw error
    }
  }
}
