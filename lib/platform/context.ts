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

/** Runs `work` as caused by the request that is being served, if any, but free of its deadline and of its caller. */
export function withoutDeadline<T>(work: () => T): T {
  const request = storage.getStore()
  if (!request) return work()
  const { request_id, trace } = request
  return storage.run({ request_id, ...(trace === undefined ? {} : { trace }) }, work)
}

/** Runs `work` apart from the request that happened to start it: for work that is shared by all who wait for it. */
export function withoutRequest<T>(work: () => T): T {
  return storage.exit(work)
}
