import { eventually } from './eventually.ts'
import type { PublicResponse } from './public-client.ts'

/** Repeats a request while it gets HTTP 503, as merchants do: on a busy server some work takes longer than a call. */
export function untilAvailable(send: () => Promise<PublicResponse>): Promise<PublicResponse> {
  return eventually(send, (response) => response?.http_status !== 503)
}
