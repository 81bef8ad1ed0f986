import { withoutDeadline } from '#lib/base/context.ts'
import { randomFraction, randomHex } from '#lib/base/crypto/random.ts'
import { clock, every, now } from '#lib/base/time.ts'
import type { ClockGuard } from '#lib/patterns/clock-guard.ts'
import { log } from '#lib/telemetry/log.ts'
import { gauge, measureOrForget } from '#lib/telemetry/metrics.ts'
import { NewerBatchFormat } from '../domain/hash-chain.ts'
import { SHARDS } from '../domain/shard.ts'
import {
  isShardDone,
  type LedgerVerification,
  mayVerify,
  type ShardVerification,
} from '../domain/verification.ts'
import { VERIFICATION_PAUSE_PER_WORK } from '../limits.ts'
import type { LedgerStore } from '../store/ledger-store.ts'
import { noteFullVerification } from '../use-cases/verification.ts'
import { createPace, type Pace } from './replay-journal.ts'
import { createPaceControl, measureAge, startWhenDue } from './schedule.ts'
import { beginShard } from './shard-progress.ts'
import { type ShardVerificationDeps, verifyShard } from './verify-shard.ts'

/** Looks for a verification that was started in another process, and for shards that a crash left. */
const POLL_MS = 5_000
const MEASURE_MS = 15_000

/** How the verifier of a serving process works, beyond what the operator starts. */
export interface VerifierOptions {
  /** A full verification of the ledger is scheduled so that each batch is read within this time. Without it none is scheduled. */
  readonly interval_ms?: number
  /** Called when the stop of a shard was stored or has ended. */
  readonly onStopChanged?: () => Promise<void>
}

/** Does the verifications of the ledger that are started in any process, in the background, and measures the known problems. */
export type Verifier = ReturnType<typeof createVerifier>

/**
 * Creates the verifier of a process. The verifiers of all processes share the shards of a verification by leases, each
 * with one shard at a time. `process_name` is what the operator sees as the holder of a lease.
 */
export function createVerifier(
  store: LedgerStore,
  clock_guard: ClockGuard,
  process_name: string,
  pause_per_work = VERIFICATION_PAUSE_PER_WORK,
  { interval_ms, onStopChanged = async () => {} }: VerifierOptions = {},
) {
  const stopping = new AbortController()
  const { signal } = stopping
  const process_started_at = now()
  const deps: FreeShardsDeps = {
    store,
    signal,
    pace: createPace(pause_per_work, signal),
    onStopChanged,
    holder: `${process_name} ${randomHex(4)}`,
    unreadable: new Set(),
  }
  const controlPace = createPaceControl(store.verifications, deps.pace)
  let finished_id: string | undefined
  let working: Promise<void> | undefined

  async function work(): Promise<void> {
    // With a wrong clock this process would take shards whose leases have not expired.
    while (clock_guard.isTrusted() && !signal.aborted) {
      const verification = await store.verifications.getCurrent()
      if (verification === undefined || verification.verification_id === finished_id) return
      const result = await verifyFreeShards(deps, verification)
      if (result === 'finished') {
        await noteFullVerification(store.verifications, verification)
        finished_id = verification.verification_id
      }
      if (result === 'none_free') return
    }
  }

  function wake(): void {
    if (signal.aborted) return
    if (working !== undefined) return void controlPace().catch(() => undefined)
    working = withoutDeadline(work)
      .catch((error: unknown) =>
        log.warn({ error }, 'the verification of the ledger was interrupted and will be continued'),
      )
      .finally(() => {
        working = undefined
      })
  }

  const poll = every(
    POLL_MS,
    async () => {
      if (interval_ms !== undefined && clock_guard.isTrusted())
        await startWhenDue(store.verifications, { interval_ms, process_started_at })
      wake()
      await working
    },
    (error) => log.debug({ error }, 'a scheduled verification of the ledger could not be started'),
  )
  const measure = every(
    MEASURE_MS,
    async () => {
      await measureProblems(store)
      if (working !== undefined) await controlPace()
      if (interval_ms !== undefined) await measureAge(store, interval_ms)
    },
    (error) => log.debug({ error }, 'the state of the ledger could not be measured'),
  )
  return {
    /** Looks for work now, unless it is working. */
    wake,
    /** Saves what is verified and gives the lease back. */
    async stop(): Promise<void> {
      stopping.abort()
      poll.cancel()
      measure.cancel()
      await working
    },
  }
}

/** Shards without new batches are verified together, because each of them costs little but a durable write. */
const SHARDS_AT_A_TIME = 32

/** What the verifier of a process needs and remembers. */
export interface FreeShardsDeps extends ShardVerificationDeps {
  readonly pace: Pace
  /** This process, as the operator sees it. */
  readonly holder: string
  /** Shards with a batch that only a newer release reads. */
  readonly unreadable: Set<number>
}

/** `some_done`: look again at once. `none_free`: other processes have what is left. `finished`: nothing is left. */
type FreeShardsResult = 'some_done' | 'none_free' | 'finished'

/** Verifies every shard that no other process verifies: first together those without new batches, then one by one. */
export async function verifyFreeShards(
  deps: FreeShardsDeps,
  verification: LedgerVerification,
): Promise<FreeShardsResult> {
  const { store, holder, signal, unreadable } = deps
  const documents = await store.verifications.listShards()
  const left = shardsFromRandomStart().filter(
    (shard) => !isShardDone(verification.verification_id, documents.get(shard)),
  )
  if (left.length === 0) return 'finished'
  await setPace(deps, verification, left, documents)
  const free = left.filter(
    (shard) => mayVerify(verification, documents.get(shard), holder, now()) && !unreadable.has(shard),
  )
  const with_new_batches: number[] = []

  async function verifyUnlessNew(shard: number): Promise<void> {
    const stored = documents.get(shard)
    const begun = await beginShard(store, verification, holder, shard, stored)
    if (begun.end_seq > begun.verified.seq) with_new_batches.push(shard)
    // It needs no lease: if two processes verify the shard, one of them writes the result.
    else await verifyShard(deps, verification, begun, stored?.version)
  }

  async function takeAndVerify(shard: number): Promise<void> {
    const stored = documents.get(shard)
    const begun = await beginShard(store, verification, holder, shard, stored)
    const taken = await store.verifications.putShard(begun, stored?.version)
    if (taken) await verifyShard(deps, verification, taken, taken.version)
  }

  async function attempt(shard: number, verify: (shard: number) => Promise<void>): Promise<void> {
    if (signal.aborted) return
    try {
      await verify(shard)
    } catch (error) {
      if (!(error instanceof NewerBatchFormat)) throw error
      unreadable.add(shard)
      log.warn({ shard, error }, 'the verification of a shard is left to processes of a newer release')
    }
  }

  for (let from = 0; from < free.length; from += SHARDS_AT_A_TIME) {
    const some = free.slice(from, from + SHARDS_AT_A_TIME)
    await Promise.all(some.map((shard) => attempt(shard, verifyUnlessNew)))
  }
  for (const shard of with_new_batches) await attempt(shard, takeAndVerify)
  return free.length > 0 ? 'some_done' : 'none_free'
}

/** All shards in order from a random one, so that processes that begin together do not compete for the same shards. */
function shardsFromRandomStart(): number[] {
  const first = Math.floor(randomFraction() * SHARDS)
  return Array.from({ length: SHARDS }, (_, index) => (first + index) % SHARDS)
}

/** Sets the pace for what is left of a scheduled verification, as if this process did all of it. */
async function setPace(
  { store: { journal }, pace }: FreeShardsDeps,
  { due_at }: LedgerVerification,
  left: readonly number[],
  documents: ReadonlyMap<number, ShardVerification>,
): Promise<void> {
  if (due_at === undefined) return pace.setGoal(undefined)
  let units = 0n
  for (const shard of left) {
    const stored = documents.get(shard)
    const verified_seq = stored?.status === 'running' ? stored.verified.seq : 0n
    units += bigintMax((await journal.lastSequence(shard)) - verified_seq, 0n)
  }
  pace.setGoal({ units, ends_at_ms: clock.monotonic_ms() + due_at.getTime() - clock.now_ms() })
}

function bigintMax(one: bigint, other: bigint): bigint {
  return one > other ? one : other
}

const open_problems = gauge(
  'multihub_ledger_problems',
  'Problems in the whole ledger that the last ended verification of their shard found; 20 at most per shard.',
)

/**
 * Measures the known problems of the ledger, in the whole store (B4). A problem counts until a later verification of its
 * shard has ended without finding it, also after a restart of all processes. Without its result the metric has no value.
 */
export function measureProblems({ verifications }: Pick<LedgerStore, 'verifications'>): Promise<void> {
  return measureOrForget(
    async () => open_problems.set({}, await verifications.countOpenProblems()),
    () => open_problems.remove({}),
  )
}
