import { currentRequest } from '#lib/platform/context.ts'
import { clock } from '#lib/platform/time.ts'

/** Kept of the caller's deadline, so that it gets the answer of this process. */
const ANSWER_MS = 200

/** The monotonic time until which a request may wait: `longest_ms` from now, or a little less than its own deadline. */
export function waitUntilMs(longest_ms: number): number {
  const until_ms = clock.monotonic_ms() + longest_ms
  const deadline_ms = currentRequest()?.deadline_ms
  return deadline_ms === undefined ? until_ms : Math.min(until_ms, deadline_ms - ANSWER_MS)
}
