import { clock } from '#lib/base/time.ts'
import { deleteUnchanged } from '#lib/patterns/delete-unchanged.ts'
import { upsert } from '#lib/patterns/update.ts'
import type { Collection, CollectionSpec } from '#lib/store/store.ts'

/** A stored process of a role that shares work with the others. `address` identifies it among them. */
export type Member<F extends object> = F & {
  readonly role: string
  readonly address: string
  /** When the document of a dead process is deleted. Whether a process is alive does not depend on it. */
  readonly expires_at: Date
}

/** What a heartbeat says. A process that is alive writes another version each time. */
export type Heartbeat<F extends object> = F & { readonly version: number }

/** The stored list of the processes that share work. `F` is what each of them announces. */
export interface Members<F extends object> {
  /** Writes a heartbeat: the document of the process gets another version, which is returned. */
  beat(address: string, announced: F): Promise<number>
  /** Deletes the document of a process, unless another process with the same address has written it since. */
  remove(address: string, version: number): Promise<void>
  /** The last heartbeat of each process, by address. */
  list(): Promise<ReadonlyMap<string, Heartbeat<F>>>
}

/** The declaration of the collection of members. */
export const MEMBERS_SPEC: CollectionSpec = {
  name: 'members',
  partition: ['role'],
  key: ['role', 'address'],
  expires: 'expires_at',
}

const KEPT_MS = 600_000
const MEMBERS_MAX = 1_000

/** Makes the list of the processes of a role over the collection of `MEMBERS_SPEC`. */
export function createMembers<F extends object>(collection: Collection<Member<F>>, role: string): Members<F> {
  return {
    async beat(address, announced) {
      const expires_at = new Date(clock.now_ms() + KEPT_MS)
      const member = { ...announced, role, address, expires_at }
      const stored = await upsert(collection, { role, address }, () => member)
      if (stored === undefined) throw new Error('a heartbeat was not written')
      return stored.version
    },
    remove: (address, version) => deleteUnchanged(collection, { role, address }, version),
    async list() {
      const found = await collection.find('key', { equals: [role] }, { limit: MEMBERS_MAX })
      return new Map(found.map((member) => [member.address, member]))
    },
  }
}
