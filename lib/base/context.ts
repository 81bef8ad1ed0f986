import { AsyncLocalStorage } from 'node:async_hooks'
import { uuidv7 } from './ids.ts'
import type { Trace } from './trace.ts'

/**
 * The data of a request that travels with it through every RPC: the gateway's request id, its place in a W3C trace, the
 * calling role, its deadline on the monotonic clock, the act of the operator that it is, and its slot. An effect that runs in the
 * background has a request id of its own; other background work has a trace at most.
 */
export interface RequestContext {
  readonly request_id?: string
  readonly trace?: Trace
  readonly caller?: string
  readonly deadline_ms?: number
  readonly act?: { readonly audit_id: string; is_over: boolean }
  readonly slot?: CallSlot
}

/** The slot of a call in the count of the calls that the process works on. `waits` are for other processes (`call-slots.ts`). */
export interface CallSlot {
  readonly in_use: { value: number }
  waits: number
  is_over: boolean
}

const storage = new AsyncLocalStorage<RequestContext>()

/** The request that is being served, or what background work has of one; otherwise `undefined`. */
export function currentRequest(): RequestContext | undefined {
  return storage.getStore()
}

/** The `audit_id` of the act of the operator that is being carried out; `undefined` outside of one, and after its end (O4). */
export function currentAct(): string | undefined {
  const act = storage.getStore()?.act
  return act === undefined || act.is_over ? undefined : act.audit_id
}

/** Runs `work` outside of the present act: what it changes follows from the act, and is not what the operator has changed. */
export function withoutAct<T>(work: () => T): T {
  const request = storage.getStore()
  if (request?.act === undefined) return work()
  const { act: _act, ...rest } = request
  return storage.run(rest, work)
}

/** Ends the present act, if there is one: work that it has started and that goes on is not part of it. */
export function endAct(): void {
  const act = storage.getStore()?.act
  if (act !== undefined) act.is_over = true
}

/** Runs `work` as part of a request: its log lines carry the request id, its RPCs the deadline and the trace. */
export function withRequest<T>(context: RequestContext, work: () => T): T {
  return storage.run(context, work)
}

/** Runs `work` at a place of a trace: what it logs, stores and calls belongs to the trace. */
export function withTrace<T>(trace: Trace, work: () => T): T {
  return storage.run({ ...storage.getStore(), trace }, work)
}

/** Runs `work` with the request id and trace of the present request, but without its deadline, caller and act. */
export function withoutDeadline<T>(work: () => T): T {
  const request = storage.getStore()
  if (!request) return work()
  const { deadline_ms: _deadline, caller: _caller, act: _act, ...rest } = request
  return storage.run(rest, work)
}

/** Runs `work` as part of the present request. Where there is none, it gets a request id of its own, which its log lines and RPCs carry. */
export function withRequestId<T>(work: () => T): T {
  const request = storage.getStore()
  return request?.request_id === undefined ? storage.run({ ...request, request_id: uuidv7() }, work) : work()
}

/** Runs `work` outside the request that started it: for work whose result several requests share. */
export function withoutRequest<T>(work: () => T): T {
  return storage.exit(work)
}
