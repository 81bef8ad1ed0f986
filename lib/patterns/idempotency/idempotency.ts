import { hash } from 'node:crypto'
import { PublicError } from '#lib/contract/errors/public-error.ts'
import { randomHex } from '#lib/platform/crypto/random.ts'
import { Conflict, Duplicate } from '#lib/platform/store/errors.ts'
import type { Collection, CollectionSpec, Stored } from '#lib/platform/store/port.ts'
import { log } from '#lib/platform/telemetry/log.ts'
import { now } from '#lib/platform/time.ts'

/** Whose key it is: keys are apart by merchant, environment and method (S3). */
export interface IdempotencyKey {
  readonly merchant_id: string
  readonly environment: string
  readonly method: string
  readonly key: string
}

/** One mutation. Once it has a result it is stored for ever, unless it was given a lifetime. */
export interface IdempotencyRecord extends IdempotencyKey {
  readonly payload_hash: string
  readonly seed: string
  readonly created_at: Date
  /** Who works on it now: only the refusal of the last one frees the key. */
  readonly callers: readonly string[]
  /** When the last of them joined. */
  readonly joined_at: Date
  readonly result?: Uint8Array
  /** Whether the key can be used for anything: then this record only stands where the next one will. */
  readonly free: boolean
  /** Set when there is a lifetime, or the key is free. If that were deleted at once, a version seen before could return. */
  readonly expires_at?: Date
}

/** How a store keeps the records. */
export const IDEMPOTENCY_COLLECTION: CollectionSpec = {
  name: 'idempotency',
  partition: ['merchant_id', 'environment', 'method', 'key'],
  key: ['merchant_id', 'environment', 'method', 'key'],
  expires: 'expires_at',
}

/** Makes the ids of one mutation: the same label always gives the same id, whoever does the work. */
export type SeededId = (label: string) => string

/** Does a mutation once for its key, however often and by however many callers at once it is asked for. */
export interface Idempotency {
  /**
   * The stored result, or that of `work`. `work` takes its ids from `id`, asks at every step for its own id first and
   * goes on from what is there: it can be cut off anywhere and run again, also by two callers at once. A refusal (a
   * `PublicError` that is no fault) frees the key again. Throws 1013 when the key was used with another payload.
   * With a lifetime, which has to be far longer than the work, all of it is forgotten so long after the first try.
   */
  run(
    key: IdempotencyKey,
    payload_hash: string,
    work: (id: SeededId) => Promise<Uint8Array>,
    lifetime_ms?: number,
  ): Promise<Uint8Array>
}

const TRIES_MAX = 100
/** Far longer than any request lives: who joined before that and neither finished nor left has died. */
const WORK_MAX_MS = 600_000
/** How long a free key's record stays: longer than any caller can still hold it in hand. */
const FREE_MS = 86_400_000
/** What nobody can tell the outcome of, in this process or in one that it called: the effect may have happened. */
const FAULTS: ReadonlySet<number> = new Set([2000, 2001, 2002])

/** Builds the guard over a collection declared as `IDEMPOTENCY_COLLECTION`. */
export function createIdempotency(collection: Collection<IdempotencyRecord>): Idempotency {
  async function begin(
    key: IdempotencyKey,
    payload_hash: string,
    caller: string,
    lifetime_ms: number | undefined,
  ): Promise<Stored<IdempotencyRecord>> {
    const identity = keyOf(key)
    for (let tries = 0; tries < TRIES_MAX; tries++) {
      const current = await collection.get(identity)
      const taken = current?.free ? undefined : current
      if (taken && taken.payload_hash !== payload_hash) throw new PublicError(1013)
      if (taken?.result || taken?.callers.includes(caller)) return taken
      const at = now()
      const record = taken
        ? { ...taken, callers: [...othersOf(taken, caller), caller], joined_at: at }
        : {
            ...identity,
            payload_hash,
            seed: randomHex(32),
            created_at: at,
            callers: [caller],
            joined_at: at,
            free: false,
            ...expiryOf(at, lifetime_ms),
          }
      try {
        return current ? await collection.replace(record, current.version) : await collection.insert(record)
      } catch (error) {
        if (!(error instanceof Conflict || error instanceof Duplicate)) throw error
      }
    }
    throw new Error('too many callers work on one idempotency key')
  }

  async function complete(
    record: Stored<IdempotencyRecord>,
    result: Uint8Array,
    lifetime_ms: number | undefined,
  ): Promise<Uint8Array> {
    let current: Stored<IdempotencyRecord> | undefined = record
    for (let tries = 0; tries < TRIES_MAX && current?.seed === record.seed; tries++) {
      if (current.result) return current.result
      try {
        // It may have been freed meanwhile by others, who took this caller for dead.
        const { expires_at: _, ...kept } = current
        const done = { ...kept, free: false, result, ...expiryOf(kept.created_at, lifetime_ms) }
        await collection.replace(done, current.version)
        return result
      } catch (error) {
        if (!(error instanceof Conflict)) throw error
        current = await collection.get(keyOf(record))
      }
    }
    throw new Error('the record of a mutation that was done is gone or never at rest')
  }

  /** Ends a caller's part without a result. A refusal frees the key, unless another may still succeed with it. */
  async function leave(record: Stored<IdempotencyRecord>, caller: string, refused: boolean): Promise<void> {
    let current: Stored<IdempotencyRecord> | undefined = record
    for (let tries = 0; tries < TRIES_MAX && current?.seed === record.seed && !current.result; tries++) {
      const callers = othersOf(current, caller)
      const free = refused && callers.length === 0
      const left = free ? { free, ...expiryOf(now(), FREE_MS) } : {}
      try {
        await collection.replace({ ...current, callers, ...left }, current.version)
        return
      } catch (error) {
        if (!(error instanceof Conflict)) throw error
        current = await collection.get(keyOf(record))
      }
    }
  }

  return {
    async run(key, payload_hash, work, lifetime_ms) {
      const caller = randomHex(8)
      const record = await begin(key, payload_hash, caller, lifetime_ms)
      if (record.result) return record.result
      let result: Uint8Array
      try {
        result = await work(seededIds(record))
      } catch (error) {
        const refused = error instanceof PublicError && !FAULTS.has(error.code)
        // A key that could not be given back is only held for longer; the caller has to learn what happened.
        await leave(record, caller, refused).catch((failure: unknown) =>
          log.warn({ error: failure }, 'an idempotency key was not given back'),
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

/** Who else is at work, without those that must have died. */
function othersOf({ callers, joined_at }: IdempotencyRecord, caller: string): readonly string[] {
  const dead = now().getTime() - joined_at.getTime() > WORK_MAX_MS
  return dead ? [] : callers.filter((one) => one !== caller)
}

function keyOf({
  merchant_id,
  environment,
  method,
  key,
}: IdempotencyKey): Readonly<Record<keyof IdempotencyKey, string>> {
  return { merchant_id, environment, method, key }
}

/** UUIDs of version 7 whose time is that of the record and whose random part comes from its seed and the label. */
function seededIds({ seed, created_at }: IdempotencyRecord): SeededId {
  const time = created_at.getTime().toString(16).padStart(12, '0')
  return (label) => {
    const digest = hash('sha256', `${seed}:${label}`, 'hex')
    const variant = ((Number.parseInt(digest.slice(3, 4), 16) & 0x3) | 0x8).toString(16)
    const [head, tail] = [digest.slice(0, 3), digest.slice(4, 7)]
    return `${time.slice(0, 8)}-${time.slice(8)}-7${head}-${variant}${tail}-${digest.slice(7, 19)}`
  }
}
