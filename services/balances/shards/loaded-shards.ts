import { withoutDeadline } from '#lib/base/context.ts'
import { every, type Timer } from '#lib/base/time.ts'
import { Unavailable } from '#lib/contract/errors/unavailable.ts'
import { createBackgroundWork } from '#lib/patterns/background-work.ts'
import type { ClockGuard } from '#lib/patterns/clock-guard.ts'
import { ArchiveUnavailable } from '#lib/store/errors.ts'
import { log, unlimited_log } from '#lib/telemetry/log.ts'
import { level } from '#lib/telemetry/metrics.ts'
import {
  type Checkpointer,
  createCheckpointer,
  readCheckpoint,
  sequenceOf,
} from '../checkpoints/checkpoint.ts'
import { createShardState, type ShardState } from '../domain/shard-state.ts'
import { ShardStopped } from '../domain/shard-stop.ts'
import type { Checkpoints } from '../store/checkpoints.ts'
import type { LedgerStore } from '../store/ledger-store.ts'
import { catchUp, createShardProcessor, type ShardProcessor } from './shard-processor.ts'

interface LoadedShard {
  readonly state: ShardState
  readonly processor: ShardProcessor
  readonly checkpointer: Checkpointer
  /** The repair of the checkpoint that it was loaded from. */
  readonly repair_id: string | undefined
}

/**
 * A shard has no usable checkpoint, and its journal is in an archive that cannot be read, so this process decides nothing of it. It is
 * not given away: mostly no other process has the archive either.
 */
export class NoUsableCheckpoint extends Unavailable {
  override readonly name = 'NoUsableCheckpoint'
}

/** The shards in the memory of this process. */
export type LoadedShards = ReturnType<typeof createLoadedShards>

const shards_loaded = level(
  'multihub_ledger_loaded_shards',
  'Ledger shards in the memory of this process.',
).of({})
const bytes_used = level(
  'multihub_ledger_memory_bytes',
  'Approximate memory of the loaded ledger shards; MULTIHUB_BALANCES_MEMORY bounds it.',
).of({})

interface ShardSlot {
  readonly loading: Promise<LoadedShard>
  loaded?: LoadedShard
  users: number
  /** The approximate memory of the state when it was last used. */
  size_bytes: number
}

/**
 * Loads a shard when it is first used. While the states take more than `memory_max_bytes`, the least recently used idle
 * shards lose their recent entries, which are only a cache; then such shards are unloaded. One shard always stays.
 */
// biome-ignore lint/complexity/noExcessiveLinesPerFunction: its functions share the loaded shards and their memory
export function createLoadedShards(store: LedgerStore, clock_guard: ClockGuard, memory_max_bytes: number) {
  // The map is in the order of last use.
  const slots = new Map<number, ShardSlot>()
  const unloading = createBackgroundWork()
  let used_bytes = 0
  let is_stopped = false

  function load(shard: number): ShardSlot {
    const slot: ShardSlot = { loading: withoutDeadline(loadState), users: 0, size_bytes: 0 }
    shards_loaded.value += 1
    return slot

    async function loadState(): Promise<LoadedShard> {
      const { state, checkpointer, repair_id } = await loadShardState(store, shard)
      checkpointer.wake()
      const processor = createShardProcessor(state, store.journal, clock_guard, checkpointer.wake)
      slot.loaded = { state, processor, checkpointer, repair_id }
      return slot.loaded
    }
  }

  function acquire(shard: number): ShardSlot {
    const slot = slots.get(shard) ?? load(shard)
    slots.delete(shard)
    slots.set(shard, slot)
    slot.users += 1
    return slot
  }

  function release(shard: number, slot: ShardSlot, is_usable: boolean): void {
    slot.users -= 1
    if (slots.get(shard) !== slot) return
    if (!is_usable) unload(shard, slot)
    else measure(slot)
    if (used_bytes > memory_max_bytes) freeMemory()
  }

  function measure(slot: ShardSlot): void {
    const size_bytes = slot.loaded?.state.sizeBytes() ?? 0
    countBytes(size_bytes - slot.size_bytes)
    slot.size_bytes = size_bytes
  }

  function countBytes(added: number): void {
    used_bytes += added
    bytes_used.value += added
  }

  function freeMemory(): void {
    // A shard in use is left alone: its processor relies on the recent entries that it has seen.
    const idle = [...slots].slice(0, -1).filter(([, { users }]) => users === 0)
    for (const [, slot] of idle) {
      if (used_bytes <= memory_max_bytes) return
      slot.loaded?.state.forgetRecentEntries()
      measure(slot)
    }
    for (const [shard, slot] of idle) {
      if (used_bytes <= memory_max_bytes) return
      unload(shard, slot)
    }
  }

  function unload(shard: number, slot: ShardSlot): void {
    slots.delete(shard)
    shards_loaded.value -= 1
    countBytes(-slot.size_bytes)
    void unloading.track(stopCheckpointer(slot), (error) =>
      log.warn({ shard, error }, 'a shard was unloaded without a new checkpoint; its next load takes longer'),
    )
  }

  async function stopCheckpointer({ loading }: ShardSlot): Promise<void> {
    // A failed load is not reported here: it was thrown to every user of the shard.
    const loaded = await loading.catch(() => undefined)
    await loaded?.checkpointer.stop()
  }

  return {
    /** Runs `work` on a shard, which stays loaded meanwhile. Throws `Unavailable` after `stop`. */
    async use<T>(shard: number, work: (loaded: LoadedShard) => Promise<T>): Promise<T> {
      if (is_stopped) throw new Unavailable('the ledger of this process is stopping; try another process')
      const slot = acquire(shard)
      let loaded: LoadedShard | undefined
      try {
        loaded = await slot.loading
        return await work(loaded)
      } finally {
        release(shard, slot, loaded?.processor.isUsable() ?? false)
      }
    },
    /** Unloads the shards that were loaded before the last repair of their checkpoint. `repairs` has it by shard. */
    unloadRepaired(repairs: ReadonlyMap<number, string | undefined>): void {
      for (const [shard, slot] of slots) {
        const repair_id = repairs.get(shard)
        if (repair_id === undefined || !slot.loaded || slot.loaded.repair_id === repair_id) continue
        log.warn({ shard }, 'the checkpoint of a loaded shard was repaired; the shard is loaded again')
        unload(shard, slot)
      }
    },
    /** Unloads the shards whose decisions were stopped. */
    unloadStopped(stopped: ReadonlySet<number>): void {
      for (const [shard, slot] of slots) if (stopped.has(shard)) unload(shard, slot)
    },
    /** Unloads every shard. */
    async stop(): Promise<void> {
      is_stopped = true
      for (const [shard, slot] of slots) unload(shard, slot)
      await unloading.ended()
    },
  }
}

/**
 * Loads the state of a shard from its checkpoint and the journal after it, or from the journal alone. Throws `ShardStopped` for a
 * shard whose decisions a verification has stopped, and `NoUsableCheckpoint`.
 */
async function loadShardState(store: LedgerStore, shard: number) {
  const stop = await store.stops.get(shard)
  if (stop?.stopped_since !== undefined) throw new ShardStopped(stop)
  const checkpoint = await readCheckpoint(store, shard)
  const damaged = checkpoint?.status === 'damaged' ? checkpoint : undefined
  if (damaged) {
    unlimited_log.error(
      { shard, seq: sequenceOf(damaged), reason: damaged.problem },
      'a damaged checkpoint was ignored and the whole journal is replayed; run StartVerification with fromFirstBatch to replace it',
    )
  }
  const sound = checkpoint?.status === 'sound' ? checkpoint : undefined
  const state = createShardState(sound?.snapshot ?? { shard })
  await catchUp(state, store.journal).catch((error: unknown) => {
    if (!(error instanceof ArchiveUnavailable)) throw error
    throw new NoUsableCheckpoint(`shard ${shard} has no usable checkpoint: ${error.message}`, {
      cause: error,
    })
  })
  const checkpointer = createCheckpointer(state, store.checkpoints, sound?.stored_head, damaged?.stored_head)
  return { state, checkpointer, repair_id: checkpoint?.stored_head.repair_id }
}

/** How long a process decides at most by the balances of a checkpoint that was repaired since. */
const POLL_MS = 5_000

/**
 * Looks in the background for checkpoints that a verification has repaired, in any process, and unloads the shards that
 * this process has loaded from a wrong one. It costs one read of an index that is empty without repairs.
 */
export function watchRepairs(checkpoints: Pick<Checkpoints, 'listRepairs'>, shards: LoadedShards): Timer {
  return every(
    POLL_MS,
    async () => shards.unloadRepaired(await checkpoints.listRepairs()),
    (error) => log.warn({ error }, 'the repairs of checkpoints could not be read'),
  )
}
