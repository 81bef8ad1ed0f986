import { backoffDelay } from '#lib/base/backoff.ts'
import { currentRequest } from '#lib/base/context.ts'
import { randomFraction } from '#lib/base/crypto/random.ts'
import { clock, sleep } from '#lib/base/time.ts'
import { Unavailable } from '#lib/contract/errors/unavailable.ts'

/** Kept of the caller's deadline, so that it gets the answer of this process. */
const ANSWER_MS = 200
/** From about the time of a ledger command to a pause that costs little. */
const PAUSE = { first_ms: 2, max_ms: 100 }

/** What a request waits for. */
export interface AwaitedChange<Document> {
  /** Whether the change has happened. */
  readonly hasHappened: (document: Document) => boolean
  /** Reads the document again. */
  readonly read: (document: Document) => Promise<Document>
  /** The longest wait, also for a caller with more time. */
  readonly wait_ms: number
  /** What has not happened in time, for the message of `Unavailable`. */
  readonly late: string
}

/**
 * Reads a document again, at growing intervals, until another effect or process has changed it, and returns it. Throws
 * `Unavailable` when the wait or the caller's deadline ends before.
 */
export async function awaitChange<Document>(
  document: Document,
  { hasHappened, read, wait_ms, late }: AwaitedChange<Document>,
): Promise<Document> {
  const until_ms = waitUntilMs(wait_ms)
  let current = document
  for (let reads = 1; !hasHappened(current); reads += 1) {
    if (clock.monotonic_ms() >= until_ms) throw new Unavailable(late)
    await sleep(backoffDelay(reads, PAUSE, randomFraction()))
    current = await read(current)
  }
  return current
}

/** The monotonic time until which a request may wait: `wait_ms` from now, or a little less than its own deadline. */
function waitUntilMs(wait_ms: number): number {
  const until_ms = clock.monotonic_ms() + wait_ms
  const deadline_ms = currentRequest()?.deadline_ms
  return deadline_ms === undefined ? until_ms : Math.min(until_ms, deadline_ms - ANSWER_MS)
}
