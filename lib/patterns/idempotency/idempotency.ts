import { hash } from 'node:crypto'
import { sha256Hex } from '#lib/base/crypto/hash.ts'
import { randomHex } from '#lib/base/crypto/random.ts'
import { now } from '#lib/base/time.ts'
import { PublicError } from '#lib/contract/errors/public-error.ts'
import { keyOf } from '#lib/store/lookup.ts'
import type { Collection, CollectionSpec, Stored } from '#lib/store/store.ts'
import { log } from '#lib/telemetry/log.ts'
import type { ClockGuard } from '../clock-guard.ts'
import { deleteUnchanged, update, updateOrDelete, upsert } from '../update.ts'

/** A JSON value as the strict parser returns it. Integers above 2^53 are `bigint`. */
export type JsonValue =
  | string
  | number
  | bigint
  | boolean
  | null
  | readonly JsonValue[]
  | { readonly [key: string]: JsonValue | undefined }

/**
 * The canonical JSON text of a value: no white space, keys in code-unit order, no absent fields. Two requests have the
 * same payload when their canonical texts are equal (S3).
 */
export function canonicalJson(value: JsonValue): string {
  if (typeof value === 'bigint') return value.toString()
  if (value === null || typeof value !== 'object') return JSON.stringify(value)
  if (isList(value)) return `[${value.map(canonicalJson).join(',')}]`
  let text = ''
  for (const key of Object.keys(value).sort()) {
    const field = value[key]
    if (field !== undefined) text += `${text === '' ? '' : ','}${JSON.stringify(key)}:${canonicalJson(field)}`
  }
  return `{${text}}`
}

/** The SHA-256 of the canonical JSON text, in hexadecimal. */
export function payloadHash(value: JsonValue): string {
  return sha256Hex(canonicalJson(value))
}

function isList(value: readonly JsonValue[] | object): value is readonly JsonValue[] {
  return Array.isArray(value)
}

/** The identity of an idempotency record. A key is separate per merchant, environment and method (S3). */
export interface IdempotencyKey {
  readonly merchant_id: string
  readonly environment: string
  readonly method: string
  readonly key: string
}

/** One mutation. A record with a result is kept permanently, unless it has a lifetime, or goes with what it made. */
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
export const IDEMPOTENCY_COLLECTION = {
  name: 'idempotency',
  partition: ['merchant_id', 'environment', 'method', 'key'],
  key: ['merchant_id', 'environment', 'method', 'key'],
  expires: 'expires_at',
} as const satisfies CollectionSpec

const recordKey = keyOf(IDEMPOTENCY_COLLECTION)

/** A new mutation under a key, by one execution. */
interface NewMutation extends Pick<IdempotencyRecord, 'payload_hash' | 'seed'> {
  readonly execution: string
  readonly lifetime_ms: number | undefined
}

/** More executions than this have crashed, or are a merchant who repeats a request without waiting. */
const EXECUTIONS_MAX = 64

/**
 * The record after an execution has started the mutation or joined it; `undefined` when it is unchanged. Throws 1013 when
 * the key was used with another payload.
 */
function joinMutation(
  current: IdempotencyRecord | undefined,
  key: IdempotencyKey,
  { execution, payload_hash, seed, lifetime_ms }: NewMutation,
  at: Date,
): IdempotencyRecord | undefined {
  if (!current) {
    const expires_at = lifetime_ms === undefined ? {} : { expires_at: new Date(at.getTime() + lifetime_ms) }
    return { ...recordKey(key), payload_hash, seed, created_at: at, executions: [execution], ...expires_at }
  }
  const { executions, result, is_uncertain } = current
  if (current.payload_hash !== payload_hash) throw new PublicError(1013)
  if (result || is_uncertain || executions.includes(execution)) return undefined
  if (executions.length === EXECUTIONS_MAX) return uncertain(current)
  return { ...current, executions: [...executions, execution] }
}

/** The record with the result; `undefined` when it has one already or belongs to a later mutation. */
function completeMutation(
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
function leaveMutation(
  current: IdempotencyRecord,
  seed: string,
  { execution, is_refused }: { readonly execution: string; readonly is_refused: boolean },
): IdempotencyRecord | 'delete' | undefined {
  if (current.seed !== seed || current.result || current.is_uncertain) return undefined
  if (!is_refused) return uncertain(current)
  const executions = current.executions.filter((one) => one !== execution)
  return executions.length === 0 ? 'delete' : { ...current, executions }
}

/** From here on only a result ends the mutation, so nothing needs to know who works on it. */
function uncertain(current: IdempotencyRecord): IdempotencyRecord {
  return { ...current, is_uncertain: true, executions: [] }
}

/** Derives an id of one mutation from a label. The same label gives the same id to every execution and retry. */
export type SeededId = (label: string) => string

/** Runs a mutation once per key, however many callers ask for it and however often. */
export type Idempotency = ReturnType<typeof createIdempotency>

/** Codes after which the outcome is unknown, here or in a called process: the work may have been done. */
const UNKNOWN_OUTCOME_CODES: ReadonlySet<number> = new Set([2000, 2001, 2002])

/** How long the records of the test environment are kept (O25). */
interface TestRecords {
  /** From the first try; `undefined` keeps them permanently. */
  readonly test_lifetime_ms: number | undefined
  /** The methods whose records last as long as what they made, until `forget`. */
  readonly lasting_methods?: readonly string[]
}

/** Creates the guard over a collection that was declared as `IDEMPOTENCY_COLLECTION`. */
export function createIdempotency(
  collection: Collection<IdempotencyRecord>,
  clock_guard: Pick<ClockGuard, 'assertTrusted'>,
  { test_lifetime_ms, lasting_methods = [] }: TestRecords = { test_lifetime_ms: undefined },
) {
  const lifetimeOf = ({ environment, method }: IdempotencyKey): number | undefined =>
    environment === 'test' && !lasting_methods.includes(method) ? test_lifetime_ms : undefined

  async function join(key: IdempotencyKey, mutation: NewMutation): Promise<Stored<IdempotencyRecord>> {
    const record = await upsert(collection, recordKey(key), (current) =>
      joinMutation(current, key, mutation, now()),
    )
    if (!record) throw new Error('upsert returned no idempotency record')
    return record
  }

  async function complete(record: Stored<IdempotencyRecord>, result: Uint8Array): Promise<Uint8Array> {
    const { seed } = record
    const stored = await update(
      collection,
      recordKey(record),
      (current) => completeMutation(current, seed, result),
      record,
    )
    if (stored?.seed !== seed || !stored.result)
      throw new Error('the idempotency record of a finished mutation is gone')
    return stored.result
  }

  async function leave(record: Stored<IdempotencyRecord>, execution: string, error: unknown): Promise<void> {
    const is_refused = error instanceof PublicError && !UNKNOWN_OUTCOME_CODES.has(error.code)
    const decide = (current: IdempotencyRecord): IdempotencyRecord | 'delete' | undefined =>
      leaveMutation(current, record.seed, { execution, is_refused })
    await updateOrDelete(collection, recordKey(record), decide, record)
  }

  return {
    /**
     * Returns the stored result, or runs `work` and stores its result. `work` must take its ids from `id`, look for its own
     * id before each step, and continue from what exists, because a crash can interrupt it anywhere and two executions can
     * run at once. A refusal (a `PublicError` that is not a fault) frees the key, unless an earlier execution crashed or
     * ended with an unknown outcome. Throws 1013 when the key was used with another payload. `lifetime_ms`, which must be
     * far longer than the work, limits how long the record is kept, from its first try. Throws `Unavailable` before anything
     * is stored while the clock of the process is wrong: the record and what `work` reserves would have wrong ends.
     */
    async run(
      key: IdempotencyKey,
      payload_hash: string,
      work: (id: SeededId) => Promise<Uint8Array>,
      lifetime_ms = lifetimeOf(key),
    ): Promise<Uint8Array> {
      clock_guard.assertTrusted()
      const execution = randomHex(8)
      const record = await join(key, { execution, payload_hash, seed: randomHex(32), lifetime_ms })
      if (record.result) return record.result
      let result: Uint8Array
      try {
        result = await work(seededIds(record))
      } catch (error) {
        // A failure here only keeps the key in use for longer. The caller must see the error of the work.
        await leave(record, execution, error).catch((failure: unknown) =>
          log.warn({ error: failure }, 'an idempotency key was not freed'),
        )
        throw error
      }
      return complete(record, result)
    },
    /**
     * Deletes the record of a mutation whose result is about to go, so that its key is free. A record that is newer than `made_by` is
     * of another mutation, and stays: the deletion of the result may be repeated.
     */
    async forget(key: IdempotencyKey, made_by: Date): Promise<void> {
      const record = await collection.get(recordKey(key))
      if (record && record.created_at <= made_by)
        await deleteUnchanged(collection, recordKey(key), record.version)
    },
  }
}

/** Version 7 UUIDs: their time is the time of the record, their random part is a hash of its seed and the label. */
function seededIds({ seed, created_at }: IdempotencyRecord): SeededId {
  const time = created_at.getTime().toString(16).padStart(12, '0')
  return (label) => {
    const digest = hash('sha256', `${seed}:${label}`, 'hex')
    const variant = ((Number.parseInt(digest.slice(3, 4), 16) & 0x3) | 0x8).toString(16)
    const [head, tail] = [digest.slice(0, 3), digest.slice(4, 7)]
    return `${time.slice(0, 8)}-${time.slice(8)}-7${head}-${variant}${tail}-${digest.slice(7, 19)}`
  }
}
