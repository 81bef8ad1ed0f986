import { sha256Hex } from '#lib/base/crypto/hash.ts'
import { clock, every } from '#lib/base/time.ts'
import { Conflict } from '#lib/store/errors.ts'
import type { Collection, CollectionSpec, Stored } from '#lib/store/store.ts'
import { log } from '#lib/telemetry/log.ts'
import { deleteUnchanged, upsert } from '../update.ts'

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
}

const KEPT_MS = 600_000
const MEMBERS_MAX = 1_000

/**
 * Makes the list of the processes of a role over the collection of `MEMBERS_SPEC`. `kept_ms` is how long the document of a dead
 * process stays.
 */
export function createMembers<F extends object>(
  collection: Collection<Member<F>>,
  role: string,
  kept_ms = KEPT_MS,
) {
  return {
    /**
     * Writes a heartbeat: the document of the process gets another version, which is returned. `before` is the version of its last
     * heartbeat, with which this one costs no read.
     */
    async beat(address: string, announced: F, before?: number): Promise<number> {
      const expires_at = new Date(clock.now_ms() + kept_ms)
      const member = { ...announced, role, address, expires_at }
      const replaced = before === undefined ? undefined : await replaceVersion(collection, member, before)
      const stored = replaced ?? (await upsert(collection, { role, address }, () => member))
      if (stored === undefined) throw new Error('a heartbeat was not written')
      return stored.version
    },
    /** Deletes the document of a process, unless another process with the same address has written it since. */
    remove: (address: string, version: number) => deleteUnchanged(collection, { role, address }, version),
    /** The last heartbeat of each process, by address. */
    async list(): Promise<ReadonlyMap<string, Heartbeat<F>>> {
      const found = await collection.find('key', { equals: [role] }, { limit: MEMBERS_MAX })
      return new Map(found.map((member) => [member.address, member]))
    },
  }
}

/** Replaces this version of a document; `undefined` when it is another one, or gone. */
async function replaceVersion<D extends object>(
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

/** The pause between two heartbeats, and between two readings of the others', unless given. */
const HEARTBEAT_MS = 1_000

/** The number of readings in a row without a new heartbeat after which a process counts as dead. */
const MISSED_MAX = 5

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
  /** Whether no other process lived at the start: those of the first reading are dead, unless they write once more. */
  readonly is_alone?: boolean
}

/**
 * Creates the membership of a process. It counts heartbeats and compares no clocks: a process is dead when its document
 * stays the same for `MISSED_MAX` readings in a row. A reading follows an own heartbeat that was confirmed, so nothing is counted
 * while this process cannot write, nor at the first reading after that, which may be the first that the others could be seen at.
 * Views may differ between processes for a moment, so they may only serve speed: safety needs a fence.
 */
export function createMembership<F extends object>(options: MembershipOptions<F>) {
  const { members, self_address, isFit, announce, onChange, heartbeat_ms = HEARTBEAT_MS } = options
  const readings = createReadings<F>(self_address, options.is_alone ?? false)
  let live: readonly string[] = []
  let is_member = false
  let own_version: number | undefined
  let confirmed_ms = Number.NEGATIVE_INFINITY
  let was_interrupted = false
  let last_round = Promise.resolve()

  async function takePart(): Promise<void> {
    if (is_member && isFit()) {
      const sent_ms = clock.monotonic_ms()
      own_version = await members.beat(self_address, announce(), own_version)
      confirmed_ms = sent_ms
    } else if (own_version !== undefined) {
      await members.remove(self_address, own_version)
      own_version = undefined
    }
  }

  function observe(heartbeats: ReadonlyMap<string, Heartbeat<F>>): void {
    readings.add(heartbeats, was_interrupted ? 0 : 1)
    const now_live = readings.live()
    if (now_live.length === live.length && now_live.every((address) => live.includes(address))) return
    live = now_live
    onChange(live.length)
  }

  /** One heartbeat and one reading, after the round in progress. It never rejects. */
  function round(): Promise<void> {
    last_round = last_round.then(async () => {
      try {
        await takePart()
        observe(await members.list())
        was_interrupted = false
      } catch (error) {
        was_interrupted = true
        log.warn({ error }, 'a heartbeat could not be written or those of the other processes not be read')
      }
    })
    return last_round
  }

  const timer = every(heartbeat_ms, round, () => {})

  /** Takes part no more, so that the others take over. This process still sees the live ones. */
  const leave = (): Promise<void> => {
    is_member = false
    return round()
  }
  return {
    /**
     * The addresses of the live processes; the same array until they change. It has this process only while it takes part.
     */
    live: () => live,
    /** The addresses of the processes that have died and whose documents are still there. */
    dead: readings.dead,
    /** Whether a process has died. One that this process does not know has not. */
    isDead: readings.isDead,
    /** How long ago the last own heartbeat that was confirmed was sent, by the monotonic clock; infinity before the first one. */
    confirmedAgoMs: () => clock.monotonic_ms() - confirmed_ms,
    /** The last heartbeat of a process. */
    heartbeatOf: readings.heartbeatOf,
    /** Takes part from now on. Resolves when the others can see that, and `live` is known. */
    join(): Promise<void> {
      is_member = true
      return round()
    },
    leave,
    /** Leaves and stops reading. */
    async stop(): Promise<void> {
      timer.cancel()
      await leave()
    },
    /** Stops and leaves the heartbeat as it is, so that the others find this process dead, as if it had been killed. */
    async abandon(): Promise<void> {
      timer.cancel()
      await last_round
    },
  }
}

/** Counts for each process the readings in a row without a new heartbeat. */
function createReadings<F extends object>(self_address: string, is_alone: boolean) {
  const seen = new Map<string, { readonly heartbeat: Heartbeat<F>; readonly missed: number }>()
  let has_read = false
  const isDead = (address: string): boolean => (seen.get(address)?.missed ?? 0) >= MISSED_MAX
  return {
    /** Adds a reading, which counts for `counted`. */
    add(heartbeats: ReadonlyMap<string, Heartbeat<F>>, counted: 0 | 1): void {
      for (const address of seen.keys()) if (!heartbeats.has(address)) seen.delete(address)
      for (const [address, heartbeat] of heartbeats) {
        const before = seen.get(address)
        const is_earlier = is_alone && !has_read && address !== self_address
        const missed = before?.heartbeat.version === heartbeat.version ? before.missed + counted : 0
        seen.set(address, { heartbeat, missed: is_earlier ? MISSED_MAX : missed })
      }
      has_read = true
    },
    isDead,
    live: (): readonly string[] => [...seen.keys()].filter((address) => !isDead(address)),
    dead: (): readonly string[] => [...seen.keys()].filter(isDead),
    heartbeatOf: (address: string) => seen.get(address)?.heartbeat,
  }
}
