/** A request between roles whose body and response are streams. */
export interface StreamRequest {
  readonly method: 'GET' | 'PUT'
  readonly path: string
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: AsyncIterable<Uint8Array>
  /** Ends the exchange, the reading of the response included. */
  readonly signal: AbortSignal
}

/** A response whose body is read as it is taken. */
export interface StreamResponse {
  readonly status: number
  readonly headers: Readonly<Record<string, string | string[] | undefined>>
  readonly body: AsyncIterable<Uint8Array>
}

/**
 * Answers streams: a role in the same process, or a client of a role in another one. A failed exchange throws
 * `Unavailable`; a body that ends early makes the iteration of it throw.
 */
export type StreamHandler = (request: StreamRequest) => Promise<StreamResponse>
