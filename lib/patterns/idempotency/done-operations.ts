import { PublicError } from '#lib/contract/errors/public-error.ts'
import { type JsonValue, payloadHash } from './idempotency.ts'

/** An act that a document remembers in the write that did it, so that its repetition does nothing again (O12). */
export interface DoneOperation {
  readonly operation_id: string
  /** Of the fields of the request, to tell a repetition from another request under its `operation_id`. */
  readonly payload_hash: string
  readonly at: Date
}

/** A request to do something once. */
export type RequestedOperation = Pick<DoneOperation, 'operation_id' | 'payload_hash'>

/** More acts than a person does with one resource while an answer is lost, and few enough for every document. */
const DONE_MAX = 16

/** The operation that a request asks for. A request without an `operation_id` is never a repetition. */
export function requestedOperation(operation_id: string, content: JsonValue): RequestedOperation {
  return { operation_id, payload_hash: payloadHash(content) }
}

/** The operation, when the document remembers it. Throws 1013 where its `operation_id` belongs to another request. */
export function findDone(
  done: readonly DoneOperation[] | undefined,
  { operation_id, payload_hash }: RequestedOperation,
): DoneOperation | undefined {
  if (operation_id === '') return undefined
  const found = done?.find((one) => one.operation_id === operation_id)
  if (found !== undefined && found.payload_hash !== payload_hash) throw new PublicError(1013)
  return found
}

/** Adds an operation that is done now. Returns the last 16, the newest last; an operation without an `operation_id` counts too. */
export function withDone(
  done: readonly DoneOperation[] | undefined,
  requested: RequestedOperation,
  at: Date,
): readonly DoneOperation[] {
  return [...(done ?? []), { ...requested, at }].slice(-DONE_MAX)
}
