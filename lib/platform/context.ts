import { AsyncLocalStorage } from 'node:async_hooks'

/**
 * The data of a request that travels with it through every RPC: the gateway's request id, the W3C trace, the calling
 * role, and its deadline on the monotonic clock.
 */
export interface RequestContext {
  readonly request_id: string
  readonly trace?: string
  readonly caller?: string
  readonly deadline_ms?: number
}

const storage = new AsyncLocalStorage<RequestContext>()

/** The request that is being served; `undefined` in background work. */
export function currentRequest(): RequestContext | undefined {
  return storage.getStore()
}

/** Runs `work` as part of a request: its log lines carry the request id, its RPCs the deadline and the trace. */
export function withRequest<T>(context: RequestContext, work: () => T): T {
  return storage.run(context, work)
}

/** Runs `work` with the request id and trace of the present request, but without its deadline and caller. */
export function withoutDeadline<T>(work: () => T): T {
  const request = storage.getStore()
  if (!request) return work()
  const { request_id, trace } = request
  return storage.run({ request_id, ...(trace === undefined ? {} : { trace }) }, work)
}

/** Runs `work` outside the request that started it: for work whose result several requests share. */
export function withoutRequest<T>(work: () => T): T {
  return storage.exit(work)
}
