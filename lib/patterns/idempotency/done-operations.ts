import { PublicError } from '#lib/contract/errors/public-error.ts'
import { type JsonValue, payloadHash } from './idempotency.ts'

/** An act that a document remembers in the write that did it, so that its repetition does nothing again (O12). */
export interface DoneOperation {
  readonly operation_id: string
  /** Of the fields of the request, to tell a repetition from another request under its `operation_id`. */
  readonly payload_hash: string
  /** Who did it, where the answer holds a secret; missing in acts by releases that did not keep it. */
  readonly principal_id?: string
  readonly at: Date
}

/** A request to do something once. */
export type RequestedOperation = Omit<DoneOperation, 'at'>

/** More acts than a person does with one resource while an answer is lost, and few enough for every document. */
const DONE_MAX = 16

/**
 * The operation that a request asks for. A request without an `operation_id` is never a repetition. With `principal_id`, which is
 * needed where the answer holds a secret, the request of another principal is another request.
 */
export function requestedOperation(
  operation_id: string,
  content: JsonValue,
  principal_id?: string,
): RequestedOperation {
  const by = principal_id === undefined ? {} : { principal_id }
  return { operation_id, payload_hash: payloadHash(content), ...by }
}

/** Throws 1013 where what is kept under an `operation_id` was asked for by another request, or by another principal. */
export function checkRepetition(
  kept: Pick<DoneOperation, 'payload_hash' | 'principal_id'>,
  requested: Pick<DoneOperation, 'payload_hash' | 'principal_id'>,
): void {
  const is_same_principal = (kept.principal_id ?? requested.principal_id) === requested.principal_id
  if (kept.payload_hash !== requested.payload_hash || !is_same_principal) throw new PublicError(1013)
}

/** The operation, when the document remembers it. Throws 1013 where its `operation_id` belongs to another request. */
export function findDone(
  done: readonly DoneOperation[] | undefined,
  requested: RequestedOperation,
): DoneOperation | undefined {
  if (requested.operation_id === '') return undefined
  const found = done?.find((one) => one.operation_id === requested.operation_id)
  if (found !== undefined) checkRepetition(found, requested)
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
