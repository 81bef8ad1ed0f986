import { Unavailable } from '#lib/contract/errors/unavailable.ts'
import { withoutDeadline } from '#lib/platform/context.ts'
import { log } from '#lib/platform/telemetry/log.ts'
import { clock } from '#lib/platform/time.ts'
import { createShardState, type ShardState } from '../domain/shard-state.ts'
import { LOADED_SHARDS_MAX } from '../limits.ts'
import { loadCheckpoint } from '../projections/checkpoint.ts'
import { createProjector, type Projector } from '../projections/projector.ts'
import type { LedgerStore } from '../store/ledger-store.ts'
import { catchUp } from './catch-up.ts'
import { createShardLog, type ShardLog } from './shard-log.ts'

/** A shard in the memory of this process. */
export interface LoadedShard {
  readonly log: ShardLog
  readonly projector: Projector
}

/** The shards that this process holds in memory. */
export interface LoadedShards {
  /** Runs `work` on a shard, which stays loaded meanwhile. Throws `Unavailable` when this process stops. */
  use<T>(shard: number, work: (loaded: LoadedShard) => Promise<T>): Promise<T>
  /** How far this process's clock is behind the last batch of any loaded shard, in milliseconds; 0 when it is not. */
  clockBehindMs(): number
  stop(): Promise<void>
}

interface ShardSlot {
  readonly loading: Promise<LoadedShard>
  users: number
  state?: ShardState
}

/**
 * Loads shards when they are first used, and puts away those that nobody used longest when there are more than
 * `loaded_max`: an idle shard costs nothing but its share of memory, and beyond that number not even that.
 */
export function createLoadedShards(store: LedgerStore, loaded_max = LOADED_SHARDS_MAX): LoadedShards {
  // In the order of their last use.
  const slots = new Map<number, ShardSlot>()
  const retiring = new Set<Promise<void>>()
  let stopped = false

  function load(shard: number): ShardSlot {
    const slot: ShardSlot = { loading: withoutDeadline(loading), users: 0 }
    return slot

    async function loading(): Promise<LoadedShard> {
      const snapshot = await loadCheckpoint(store.checkpoints, shard)
      const state = createShardState(snapshot ?? { shard })
      await catchUp(state, store.journal, () => state.trimRecentEntries(state.head().seq))
      const projector = createProjector(state, store, snapshot?.head.seq ?? 0n)
      projector.wake()
      slot.state = state
      return { log: createShardLog(state, store.journal, projector.wake), projector }
    }
  }

  function touch(shard: number): ShardSlot {
    const slot = slots.get(shard) ?? load(shard)
    slots.delete(shard)
    slots.set(shard, slot)
    return slot
  }

  function release(shard: number, slot: ShardSlot, spoiled: boolean): void {
    slot.users -= 1
    if (spoiled && slots.get(shard) === slot) retire(shard, slot)
    for (const [other, idle] of slots) {
      if (slots.size <= loaded_max) return
      if (idle.users === 0) retire(other, idle)
    }
  }

  function retire(shard: number, slot: ShardSlot): void {
    slots.delete(shard)
    // Whoever used a shard that could not be loaded was told why.
    const retired = slot.loading.then(putAway, () => undefined).finally(() => retiring.delete(retired))
    retiring.add(retired)
  }

  async function putAway({ projector }: LoadedShard): Promise<void> {
    try {
      await projector.stop()
    } catch (error) {
      log.warn({ error }, 'a shard was put away without a checkpoint')
    }
  }

  return {
    async use(shard, work) {
      if (stopped) throw new Unavailable('the ledger of this process stops')
      const slot = touch(shard)
      slot.users += 1
      let loaded: LoadedShard | undefined
      try {
        loaded = await slot.loading
        return await work(loaded)
      } finally {
        release(shard, slot, loaded === undefined || loaded.log.broken())
      }
    },
    clockBehindMs() {
      const times = [...slots.values()].map(({ state }) => state?.head().time_ms ?? 0)
      return Math.max(0, ...times.map((time_ms) => time_ms - clock.now_ms()))
    },
    async stop() {
      stopped = true
      for (const [shard, slot] of slots) retire(shard, slot)
      await Promise.all(retiring)
    },
  }
}
