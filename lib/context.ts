import { AsyncLocalStorage } from 'node:async_hooks'

/**
 * What belongs to the request being served and travels with it through every RPC: the gateway's request id, the
 * W3C trace, who calls, and the instant on the monotonic clock by which an answer is worth having.
 */
export interface RequestContext {
  readonly request_id: string
  readonly trace?: string
  readonly caller?: string
  readonly deadline_ms?: number
}

const storage = new AsyncLocalStorage<RequestContext>()

/** The request being served, or `undefined` in background work. */
export function currentRequest(): RequestContext | undefined {
  return storage.getStore()
}

/** Runs `work` as part of a request: its logs carry the request id, its RPCs the deadline and the trace. */
export function withRequest<T>(context: RequestContext, work: () => T): T {
  return storage.run(context, work)
}

/** Runs `work` apart from the request that caused it: it is not bound by that request's deadline. */
export function detached<T>(work: () => T): T {
  return storage.exit(work)
}
