import { sha256Hex } from '#lib/base/crypto/hash.ts'
import { clock } from '#lib/base/time.ts'
import { Conflict } from '#lib/store/errors.ts'
import type { Collection, CollectionSpec, Stored } from '#lib/store/store.ts'
import { deleteUnchanged, upsert } from '../update.ts'
import { createHeartbeats, createReadings } from './heartbeats.ts'

/**
 * The addresses in the order in which they should own a piece of work (rendezvous hashing). Each process computes the
 * same order. When a process joins or leaves, only the work that it gets or had moves.
 */
export function rankMembers(work: string, addresses: readonly string[]): readonly string[] {
  const hashed = addresses.map((address) => ({ address, hash: sha256Hex(`${work} ${address}`) }))
  return hashed.sort((one, other) => (one.hash < other.hash ? 1 : -1)).map(({ address }) => address)
}

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
export type Members<F extends object> = ReturnType<typeof createMembers<F>>

/** The declaration of the collection of members. */
export const MEMBERS_SPEC: CollectionSpec = {
  name: 'members',
  partition: ['role'],
  key: ['role', 'address'],
  expires: 'expires_at',
  is_urgent: true,
}

/** How long the document of a dead process stays. */
const KEPT_MS = 600_000
const MEMBERS_MAX = 1_000

/** Makes the list of the processes of a role over the collection of `MEMBERS_SPEC`. */
export function createMembers<F extends object>(collection: Collection<Member<F>>, role: string) {
  return {
    /**
     * Writes a heartbeat: the document of the process gets another version, which is returned. `before` is the version of its last
     * heartbeat, with which this one costs no read.
     */
    async beat(address: string, announced: F, before?: number): Promise<number> {
      const expires_at = new Date(clock.now_ms() + KEPT_MS)
      const member = { ...announced, role, address, expires_at }
      const replaced = before === undefined ? undefined : await replaceVersion(collection, member, before)
      const stored = replaced ?? (await upsert(collection, { role, address }, () => member))
      if (stored === undefined) throw new Error('a heartbeat was not written')
      return stored.version
    },
    /** Deletes the document of a process, unless another process with the same address has written it since. */
    remove: (address: string, version: number) => deleteUnchanged(collection, { role, address }, version),
    /** The last heartbeat of each process, by address. */
    list: (): Promise<ReadonlyMap<string, Heartbeat<F>>> => listMembers(collection, role),
  }
}

/** The documents of the processes of a role, by address. */
export async function listMembers<F extends object>(
  collection: Pick<Collection<Member<F>>, 'find'>,
  role: string,
): Promise<ReadonlyMap<string, Stored<Member<F>>>> {
  const found = await collection.find('key', { equals: [role] }, { limit: MEMBERS_MAX })
  return new Map(found.map((member) => [member.address, member]))
}

/** Replaces this version of a document; `undefined` when it is another one, or gone. */
export async function replaceVersion<D extends object>(
  collection: Pick<Collection<D>, 'replace'>,
  document: D,
  version: number,
): Promise<Stored<D> | undefined> {
  try {
    return await collection.replace(document, version)
  } catch (error) {
    if (error instanceof Conflict) return undefined
    throw error
  }
}

/** The live processes that share work, as this process sees them. `F` is what each of them announces. */
export type Membership<F extends object> = ReturnType<typeof createMembership<F>>

interface MembershipOptions<F extends object> {
  readonly members: Members<F>
  readonly self_address: string
  /** Whether this process can do its share of the work now. While it cannot, it takes no part. */
  readonly isFit: () => boolean
  /** What the next heartbeat tells the others. */
  readonly announce: () => F
  /** Called with the number of live processes when they have changed. */
  readonly onChange: (live_count: number) => void
  readonly heartbeat_ms?: number
}

/**
 * Creates the membership of a process. It counts heartbeats and compares no clocks (`createHeartbeats`). Views may differ between
 * processes for a moment, and a process that was dead for some lives again with its next heartbeat. So they may only serve speed:
 * safety needs a fence.
 */
export function createMembership<F extends object>(options: MembershipOptions<F>) {
  const { members, self_address, isFit, announce, onChange, heartbeat_ms } = options
  const readings = createReadings<Heartbeat<F>>(heartbeat_ms)
  let live: readonly string[] = []
  let is_member = false
  let own_version: number | undefined

  async function takePart(): Promise<void> {
    if (is_member && isFit()) {
      own_version = await members.beat(self_address, announce(), own_version)
    } else if (own_version !== undefined) {
      await members.remove(self_address, own_version)
      own_version = undefined
    }
  }

  async function observe(counted: 0 | 1): Promise<void> {
    readings.add(await members.list(), counted)
    const now_live = readings.live()
    if (now_live.length === live.length && now_live.every((address) => live.includes(address))) return
    live = now_live
    onChange(live.length)
  }

  const heartbeats = createHeartbeats({ beat: takePart, read: observe, heartbeat_ms })

  /** Takes part no more, so that the others take over. This process still sees the live ones. */
  const leave = (): Promise<void> => {
    is_member = false
    return heartbeats.round()
  }
  return {
    /**
     * The addresses of the live processes; the same array until they change. It has this process only while it takes part.
     */
    live: () => live,
    /** The last heartbeat of a process. */
    heartbeatOf: readings.heartbeatOf,
    /** Takes part from now on. Resolves when the others can see that, and `live` is known. */
    join(): Promise<void> {
      is_member = true
      return heartbeats.round()
    },
    leave,
    /** Leaves and stops reading. */
    async stop(): Promise<void> {
      await heartbeats.stop()
      await leave()
    },
  }
}
