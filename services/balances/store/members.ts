import { upsert } from '#lib/patterns/update.ts'
import type { Collection, Store } from '#lib/platform/store/store.ts'
import { clock } from '#lib/platform/time.ts'
import { deleteUnchanged } from './guarded-writes.ts'

/** A balances process that takes commands of others, by the address of its gRPC port. */
interface Member {
  readonly role: 'balances'
  readonly address: string
  /** The shards that it leaves to processes of a newer release. */
  readonly given_away: readonly number[]
  /** When the document of a dead process is deleted. Whether a process is alive does not depend on it. */
  readonly expires_at: Date
}

/** What a heartbeat says. A process that is alive writes another version each time. */
export interface Heartbeat {
  readonly version: number
  readonly given_away: readonly number[]
}

/** The stored list of the processes that share the shards. */
export interface Members {
  /** Writes a heartbeat: the document of the process gets another version, which is returned. */
  beat(address: string, given_away: readonly number[]): Promise<number>
  /** Deletes the document of a process, unless another process with the same address has written it since. */
  remove(address: string, version: number): Promise<void>
  /** The last heartbeat of each process, by address. */
  list(): Promise<ReadonlyMap<string, Heartbeat>>
}

const ROLE = 'balances'
const KEPT_MS = 600_000
const MEMBERS_MAX = 1_000

/** Opens the collection `members`. */
export async function openMembers(store: Store): Promise<Members> {
  return createMembers(
    await store.collection<Member>({
      name: 'members',
      partition: ['role'],
      key: ['role', 'address'],
      expires: 'expires_at',
    }),
  )
}

function createMembers(members: Collection<Member>): Members {
  return {
    async beat(address, given_away) {
      const expires_at = new Date(clock.now_ms() + KEPT_MS)
      const stored = await upsert(members, { role: ROLE, address }, () => ({
        role: ROLE,
        address,
        given_away,
        expires_at,
      }))
      if (stored === undefined) throw new Error('a heartbeat was not written')
      return stored.version
    },
    remove: (address, version) => deleteUnchanged(members, { role: ROLE, address }, version),
    async list() {
      const found = await members.find('key', { equals: [ROLE] }, { limit: MEMBERS_MAX })
      return new Map(found.map(({ address, version, given_away }) => [address, { version, given_away }]))
    },
  }
}
