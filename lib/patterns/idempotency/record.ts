import { PublicError } from '#lib/contract/errors/public-error.ts'
import type { CollectionSpec } from '#lib/platform/store/store.ts'

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
  /** The executions that work on the mutation now, each by a random id. Only a refusal of the last of them frees the key. */
  readonly executions: readonly string[]
  /** When the newest execution joined. */
  readonly joined_at: Date
  readonly result?: Uint8Array
  /** Whether the key is free for any payload. A free record stays only because the next one replaces it. */
  readonly is_free: boolean
  /**
   * Set when the record has a lifetime or is free. A free record is replaced, which keeps its versions increasing; the
   * store deletes it only after its last slow execution is gone.
   */
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

/** Far longer than any request lasts: an execution that joined earlier and neither finished nor left has crashed. */
const WORK_MAX_MS = 600_000
/** How long the record of a free key is kept: longer than any execution can still hold the record that it read. */
const FREE_MS = 86_400_000

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
  if (!current || current.is_free) {
    const expiry = expiryOf(at, lifetime_ms)
    const created = { ...keyOf(key), payload_hash, seed, created_at: at, ...expiry }
    return { ...created, executions: [execution], joined_at: at, is_free: false }
  }
  if (current.payload_hash !== payload_hash) throw new PublicError(1013)
  if (current.result || current.executions.includes(execution)) return undefined
  return { ...current, executions: [...otherExecutions(current, execution, at), execution], joined_at: at }
}

/** The record with the result; `undefined` when it has one already or belongs to a later mutation. */
export function completeMutation(
  current: IdempotencyRecord,
  seed: string,
  result: Uint8Array,
  lifetime_ms: number | undefined,
): IdempotencyRecord | undefined {
  if (current.seed !== seed || current.result) return undefined
  // Another execution may have freed the key meanwhile, because it took this one for crashed.
  const { expires_at: _, ...kept } = current
  return { ...kept, is_free: false, result, ...expiryOf(kept.created_at, lifetime_ms) }
}

/**
 * The record without an execution that has no result; `undefined` when it is unchanged. A refusal frees the key, unless
 * another execution may still succeed with it.
 */
export function leaveMutation(
  current: IdempotencyRecord,
  seed: string,
  { execution, is_refused }: { readonly execution: string; readonly is_refused: boolean },
  at: Date,
): IdempotencyRecord | undefined {
  if (current.seed !== seed || current.result) return undefined
  const executions = otherExecutions(current, execution, at)
  const is_free = is_refused && executions.length === 0
  return { ...current, executions, ...(is_free ? { is_free, ...expiryOf(at, FREE_MS) } : {}) }
}

function expiryOf(from: Date, lifetime_ms: number | undefined): Pick<IdempotencyRecord, 'expires_at'> {
  return lifetime_ms === undefined ? {} : { expires_at: new Date(from.getTime() + lifetime_ms) }
}

/**
 * The other executions at work; none when the newest of them joined more than `WORK_MAX_MS` ago: then all must have
 * crashed.
 */
function otherExecutions(
  { executions, joined_at }: IdempotencyRecord,
  execution: string,
  at: Date,
): readonly string[] {
  const is_abandoned = at.getTime() - joined_at.getTime() > WORK_MAX_MS
  return is_abandoned ? [] : executions.filter((one) => one !== execution)
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
