import { PublicError } from '#lib/contract/errors/public-error.ts'
import type { CollectionSpec } from '#lib/store/store.ts'

/** The identity of an idempotency record. A key is separate per merchant, environment and method (S3). */
export interface IdempotencyKey {
  readonly merchant_id: string
  readonly environment: string
  readonly method: string
  readonly key: string
}

/** One mutation. A record with a result is kept permanently, unless it has a lifetime. */
export interface IdempotencyRecord extends IdempotencyKey {
  readonly payload_hash: string
  /** The ids of the mutation are derived from it. */
  readonly seed: string
  readonly created_at: Date
  /** The executions that work on the mutation, or crashed in it, each by a random id. A refusal of the last one frees the key. */
  readonly executions: readonly string[]
  /** Set when an execution ended with an unknown outcome. It may have succeeded, so a later refusal does not free the key. */
  readonly is_uncertain?: true
  readonly result?: Uint8Array
  /** Set when the record has a lifetime. */
  readonly expires_at?: Date
}

/** The collection of idempotency records. */
export const IDEMPOTENCY_COLLECTION: CollectionSpec = {
  name: 'idempotency',
  partition: ['merchant_id', 'environment', 'method', 'key'],
  key: ['merchant_id', 'environment', 'method', 'key'],
  expires: 'expires_at',
}

/** A new mutation under a key, by one execution. */
export interface NewMutation extends Pick<IdempotencyRecord, 'payload_hash' | 'seed'> {
  readonly execution: string
  readonly lifetime_ms: number | undefined
}

/** More executions than this have crashed, or are a merchant who repeats a request without waiting. */
const EXECUTIONS_MAX = 64

/**
 * The record after an execution has started the mutation or joined it; `undefined` when it is unchanged. Throws 1013 when the
 * key was used with another payload.
 */
export function joinMutation(
  current: IdempotencyRecord | undefined,
  key: IdempotencyKey,
  { execution, payload_hash, seed, lifetime_ms }: NewMutation,
  at: Date,
): IdempotencyRecord | undefined {
  // The release before kept the records of free keys.
  if (!current || isFree(current)) {
    const expires_at = lifetime_ms === undefined ? {} : { expires_at: new Date(at.getTime() + lifetime_ms) }
    return { ...keyOf(key), payload_hash, seed, created_at: at, executions: [execution], ...expires_at }
  }
  const { executions, result, is_uncertain } = current
  if (current.payload_hash !== payload_hash) throw new PublicError(1013)
  if (result || is_uncertain || executions.includes(execution)) return undefined
  if (executions.length === EXECUTIONS_MAX) return uncertain(current)
  return { ...current, executions: [...executions, execution] }
}

/** The record with the result; `undefined` when it has one already or belongs to a later mutation. */
export function completeMutation(
  current: IdempotencyRecord,
  seed: string,
  result: Uint8Array,
): IdempotencyRecord | undefined {
  return current.seed !== seed || current.result ? undefined : { ...current, result }
}

/**
 * The record without an execution that has no result; `undefined` when it is unchanged. A refusal frees the key, so the
 * record is deleted, unless another execution has succeeded or may still do so. Every execution that may still write is
 * in the record, and its writes name a version, so none can hit the record of a later mutation.
 */
export function leaveMutation(
  current: IdempotencyRecord,
  seed: string,
  { execution, is_refused }: { readonly execution: string; readonly is_refused: boolean },
): IdempotencyRecord | 'delete' | undefined {
  if (current.seed !== seed || current.result || current.is_uncertain) return undefined
  if (!is_refused) return uncertain(current)
  const executions = current.executions.filter((one) => one !== execution)
  return executions.length === 0 ? 'delete' : { ...current, executions }
}

/** Whether no execution has succeeded or may still do so. */
function isFree({ executions, result, is_uncertain }: IdempotencyRecord): boolean {
  return executions.length === 0 && !result && !is_uncertain
}

/** From here on only a result ends the mutation, so nothing needs to know who works on it. */
function uncertain(current: IdempotencyRecord): IdempotencyRecord {
  return { ...current, is_uncertain: true, executions: [] }
}

/** The key of a record in the store. */
export function keyOf({
  merchant_id,
  environment,
  method,
  key,
}: IdempotencyKey): Readonly<Record<keyof IdempotencyKey, string>> {
  return { merchant_id, environment, method, key }
}
