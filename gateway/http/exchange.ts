import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Environment } from '#lib/contract/environment.ts'
import { uuidv7 } from '#lib/platform/ids.ts'
import { clock, elapsedSince } from '#lib/platform/time.ts'

/** Signs an answer: the header's name and value over the bytes exactly as they are sent. */
export type SignResponse = (answer: {
  readonly request_id: string
  readonly http_status: number
  readonly body: Uint8Array
}) => readonly [name: string, value: string]

/**
 * One request and its answer. What is found out on the way (who calls, which method, how to sign) is noted here for
 * the answer and the log line, because both are needed after a failure at any step too.
 */
export interface Exchange {
  readonly request: IncomingMessage
  readonly response: ServerResponse
  /** Made here (E1); the caller's own is only logged. */
  readonly request_id: string
  /**
   * On the monotonic clock: when the head of the request had come in, which for a head of one packet is when its first
   * byte did. Listening for that byte takes the parser off the socket: 4 us, a fifth of what bare Node takes a request.
   */
  readonly started_ms: number
  readonly context: {
    /** Set once the caller has proved its secret; from then on every answer is signed, refusals too (A5). */
    sign?: SignResponse
    application_id?: string | undefined
    merchant_id?: string | undefined
    environment?: Environment | undefined
    method?: string | undefined
  }
}

/** Begins an exchange: its clock and its request id. */
export function beginExchange(request: IncomingMessage, response: ServerResponse): Exchange {
  return { request, response, request_id: uuidv7(), started_ms: clock.monotonic_ms(), context: {} }
}

/** How long the exchange has lasted, in milliseconds with at most 3 decimals (E3). */
export function elapsedMs({ started_ms }: Exchange): number {
  return elapsedSince(started_ms)
}
