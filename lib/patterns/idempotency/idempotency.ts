import { hash } from 'node:crypto'
import { randomHex } from '#lib/base/crypto/random.ts'
import { now } from '#lib/base/time.ts'
import { PublicError } from '#lib/contract/errors/public-error.ts'
import { update, updateOrDelete, upsert } from '#lib/patterns/update.ts'
import type { Collection, Stored } from '#lib/store/store.ts'
import { log } from '#lib/telemetry/log.ts'
import type { ClockGuard } from '../clock-guard.ts'
import {
  completeMutation,
  type IdempotencyKey,
  type IdempotencyRecord,
  joinMutation,
  keyOf,
  leaveMutation,
  type NewMutation,
} from './record.ts'

/** Derives an id of one mutation from a label. The same label gives the same id to every execution and retry. */
export type SeededId = (label: string) => string

/** Runs a mutation once per key, however many callers ask for it and however often. */
export interface Idempotency {
  /**
   * Returns the stored result, or runs `work` and stores its result. `work` must take its ids from `id`, look for its
   * own id before each step, and continue from what exists, because a crash can interrupt it anywhere and two
   * executions can run at once. A refusal (a `PublicError` that is not a fault) frees the key, unless an earlier execution
   * crashed or ended with an unknown outcome. Throws 1013 when the key was used with another payload. `lifetime_ms`,
   * which must be far longer than the work, limits how long the record is kept, from its first try. Throws `Unavailable`
   * before anything is stored while the clock of the process is wrong: the record and what `work` reserves would have wrong ends.
   */
  run(
    key: IdempotencyKey,
    payload_hash: string,
    work: (id: SeededId) => Promise<Uint8Array>,
    lifetime_ms?: number,
  ): Promise<Uint8Array>
}

/** Codes after which the outcome is unknown, here or in a called process: the work may have been done. */
const UNKNOWN_OUTCOME_CODES: ReadonlySet<number> = new Set([2000, 2001, 2002])

/** Creates the guard over a collection that was declared as `IDEMPOTENCY_COLLECTION`. */
export function createIdempotency(
  collection: Collection<IdempotencyRecord>,
  clock_guard: Pick<ClockGuard, 'assertTrusted'>,
): Idempotency {
  async function join(key: IdempotencyKey, mutation: NewMutation): Promise<Stored<IdempotencyRecord>> {
    const record = await upsert(collection, keyOf(key), (current) =>
      joinMutation(current, key, mutation, now()),
    )
    if (!record) throw new Error('upsert returned no idempotency record')
    return record
  }

  async function complete(record: Stored<IdempotencyRecord>, result: Uint8Array): Promise<Uint8Array> {
    const { seed } = record
    const stored = await update(
      collection,
      keyOf(record),
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
    await updateOrDelete(collection, keyOf(record), decide, record)
  }

  return {
    async run(key, payload_hash, work, lifetime_ms) {
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
  }
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
