import { Conflict, Duplicate } from '#lib/platform/store/errors.ts'
import type { Collection, Store } from '#lib/platform/store/store.ts'
import { deleteUnchanged } from './guarded-writes.ts'

/** The process that a shard's commands should go to, by the address of its gRPC port. */
export interface ShardLease {
  readonly shard: number
  readonly address: string
  readonly expires_at: Date
}

/** The stored leases. Each write names the version that it was decided on, so two processes never both succeed. */
export interface ShardLeases {
  get(shard: number): Promise<(ShardLease & { readonly version: number }) | undefined>
  /**
   * Inserts the lease when `version` is undefined, else replaces that version. Returns the new version, or `undefined`
   * when another process wrote first.
   */
  put(lease: ShardLease, version: number | undefined): Promise<number | undefined>
  /** Deletes the lease unless another process has replaced it. */
  remove(shard: number, version: number): Promise<void>
}

/** Opens the collection `shard_leases`. */
export async function openShardLeases(store: Store): Promise<ShardLeases> {
  return createShardLeases(
    await store.collection<ShardLease>({ name: 'shard_leases', partition: ['shard'], key: ['shard'] }),
  )
}

function createShardLeases(leases: Collection<ShardLease>): ShardLeases {
  return {
    get: (shard) => leases.get({ shard }),
    async put(lease, version) {
      try {
        const stored =
          version === undefined ? await leases.insert(lease) : await leases.replace(lease, version)
        return stored.version
      } catch (error) {
        if (error instanceof Duplicate || error instanceof Conflict) return undefined
        throw error
      }
    },
    remove: (shard, version) => deleteUnchanged(leases, { shard }, version),
  }
}
