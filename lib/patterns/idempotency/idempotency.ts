import { hash } from 'node:crypto'
import { PublicError } from '#lib/contract/errors/public-error.ts'
import { update, upsert } from '#lib/patterns/update.ts'
import { randomHex } from '#lib/platform/crypto/random.ts'
import type { Collection, CollectionSpec, Stored } from '#lib/platform/store/store.ts'
import { log } from '#lib/platform/telemetry/log.ts'
import { now } from '#lib/platform/time.ts'

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
  /** The callers that work on the mutation now. Only a refusal of the last of them frees the key. */
  readonly callers: readonly string[]
  /** When the newest caller joined. */
  readonly joined_at: Date
  readonly result?: Uint8Array
  /** Whether the key is free for any payload. A free record stays only because the next one replaces it. */
  readonly free: boolean
  /**
   * Set when the record has a lifetime or is free. A free record is replaced, which keeps its versions increasing; the
   * store deletes it only after its last slow caller is gone.
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

/** Derives an id of one mutation from a label. The same label gives the same id to every caller and on every retry. */
export type SeededId = (label: string) => string

/** Runs a mutation once per key, however many callers ask for it and however often. */
export interface Idempotency {
  /**
   * Returns the stored result, or runs `work` and stores its result. `work` must take its ids from `id`, look for its
   * own id before each step, and continue from what exists, because a crash can interrupt it anywhere and two callers
   * can run it at once. A refusal (a `PublicError` that is not a fault) frees the key. Throws 1013 when the key was
   * used with another payload. `lifetime_ms`, which must be far longer than the work, limits how long the record is
   * kept, from its first try.
   */
  run(
    key: IdempotencyKey,
    payload_hash: string,
    work: (id: SeededId) => Promise<Uint8Array>,
    lifetime_ms?: number,
  ): Promise<Uint8Array>
}

/** Far longer than any request lasts: a caller that joined earlier and neither finished nor left has crashed. */
const WORK_MAX_MS = 600_000
/** How long the record of a free key is kept: longer than any caller can still hold the record that it read. */
const FREE_MS = 86_400_000
/** Codes after which the outcome is unknown, here or in a called process: the work may have been done. */
const FAULTS: ReadonlySet<number> = new Set([2000, 2001, 2002])

/** Creates the guard over a collection that was declared as `IDEMPOTENCY_COLLECTION`. */
export function createIdempotency(collection: Collection<IdempotencyRecord>): Idempotency {
  /** Joins the mutation under the key, or starts it. Returns the record with its result if it is done already. */
  async function join(
    key: IdempotencyKey,
    payload_hash: string,
    caller: string,
    lifetime_ms: number | undefined,
  ): Promise<Stored<IdempotencyRecord>> {
    const identity = keyOf(key)
    const seed = randomHex(32)
    const record = await upsert(collection, identity, (current) => {
      const at = now()
      if (!current || current.free) {
        const expiry = expiryOf(at, lifetime_ms)
        const created = { ...identity, payload_hash, seed, created_at: at, ...expiry }
        return { ...created, callers: [caller], joined_at: at, free: false }
      }
      if (current.payload_hash !== payload_hash) throw new PublicError(1013)
      if (current.result || current.callers.includes(caller)) return undefined
      return { ...current, callers: [...otherCallers(current, caller), caller], joined_at: at }
    })
    if (!record) throw new Error('upsert returned no idempotency record')
    return record
  }

  async function complete(
    record: Stored<IdempotencyRecord>,
    result: Uint8Array,
    lifetime_ms: number | undefined,
  ): Promise<Uint8Array> {
    const stored = await update(
      collection,
      keyOf(record),
      (current) => {
        if (current.seed !== record.seed || current.result) return undefined
        // Another caller may have freed the key meanwhile, because it took this caller for crashed.
        const { expires_at: _, ...kept } = current
        return { ...kept, free: false, result, ...expiryOf(kept.created_at, lifetime_ms) }
      },
      record,
    )
    if (stored?.seed !== record.seed || !stored.result) {
      throw new Error('the idempotency record of a finished mutation is gone')
    }
    return stored.result
  }

  /** Removes a caller without a result. A refusal frees the key, unless another caller may still succeed with it. */
  async function leave(
    record: Stored<IdempotencyRecord>,
    caller: string,
    is_refused: boolean,
  ): Promise<void> {
    await update(
      collection,
      keyOf(record),
      (current) => {
        if (current.seed !== record.seed || current.result) return undefined
        const callers = otherCallers(current, caller)
        const free = is_refused && callers.length === 0
        return { ...current, callers, ...(free ? { free, ...expiryOf(now(), FREE_MS) } : {}) }
      },
      record,
    )
  }

  return {
    async run(key, payload_hash, work, lifetime_ms) {
      const caller = randomHex(8)
      const record = await join(key, payload_hash, caller, lifetime_ms)
      if (record.result) return record.result
      let result: Uint8Array
      try {
        result = await work(seededIds(record))
      } catch (error) {
        const is_refused = error instanceof PublicError && !FAULTS.has(error.code)
        // A failure here only keeps the key in use for longer. The caller must see the error of the work.
        await leave(record, caller, is_refused).catch((failure: unknown) =>
          log.warn({ error: failure }, 'an idempotency key was not freed'),
        )
        throw error
      }
      return complete(record, result, lifetime_ms)
    },
  }
}

function expiryOf(from: Date, lifetime_ms: number | undefined): Pick<IdempotencyRecord, 'expires_at'> {
  return lifetime_ms === undefined ? {} : { expires_at: new Date(from.getTime() + lifetime_ms) }
}

/** The other callers at work; none when the newest of them joined more than `WORK_MAX_MS` ago: then all must have crashed. */
function otherCallers({ callers, joined_at }: IdempotencyRecord, caller: string): readonly string[] {
  const is_abandoned = now().getTime() - joined_at.getTime() > WORK_MAX_MS
  return is_abandoned ? [] : callers.filter((one) => one !== caller)
}

function keyOf({
  merchant_id,
  environment,
  method,
  key,
}: IdempotencyKey): Readonly<Record<keyof IdempotencyKey, string>> {
  return { merchant_id, environment, method, key }
}

/** Version 7 UUIDs: their time is that of the record, their random part is a hash of its seed and the label. */
function seededIds({ seed, created_at }: IdempotencyRecord): SeededId {
  const time = created_at.getTime().toString(16).padStart(12, '0')
  return (label) => {
    const digest = hash('sha256', `${seed}:${label}`, 'hex')
    const variant = ((Number.parseInt(digest.slice(3, 4), 16) & 0x3) | 0x8).toString(16)
    const [head, tail] = [digest.slice(0, 3), digest.slice(4, 7)]
    return `${time.slice(0, 8)}-${time.slice(8)}-7${head}-${variant}${tail}-${digest.slice(7, 19)}`
  }
}
