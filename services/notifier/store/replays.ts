import type { Collection, Store } from '#lib/store/store.ts'
import type { Replay } from '../domain/replay.ts'

/** The collection of replays. */
export type Replays = Collection<Replay>

/** Opens the collection of replays. `by_wake` has only those that have not ended. */
export function openReplays(store: Store): Promise<Replays> {
  return store.collection<Replay>({
    name: 'replays',
    partition: ['replay_id'],
    key: ['replay_id'],
    indexes: { by_wake: { fields: ['wake_at'], where: 'wake_at', across_partitions: true } },
    expires: 'kept_until',
  })
}
