import { sleep } from '#lib/base/time.ts'
import type { ReadDocuments } from '#lib/role/operations.ts'
import { openSimulatedStore } from '../parts/store/store.ts'
import type { Place } from '../world/cluster.ts'
import type { MasterKeys } from '../world/master-keys.ts'
import type { World } from '../world/world.ts'

/** How long a process may take to stop in order. */
const STOP_MAX_MS = 20_000
const PAUSE_MS = 500

/** Starts a process at a place again, unless another fault has. */
export async function restart({ cluster }: World, place: Place, delay_ms: number): Promise<void> {
  await sleep(delay_ms)
  if (place.process === undefined) await cluster.start(place)
}

/**
 * Updates the processes one by one to the next release, which writes another format of the journal (R9). The others cannot
 * read it, so they give the shards away.
 */
export function updateRelease(world: World): Promise<void> {
  return rollOut(world, (place) => {
    place.is_updated = true
  })
}

/**
 * Replaces the master key while the system works, as docs/operators/security.md says: all processes get the new key, then it
 * becomes active, then the stored secrets are encrypted again. `removeOldKey` is the last step.
 */
export async function replaceMasterKey(world: World): Promise<void> {
  await useKeys(world, { present: ['old', 'new'], active: 'old' })
  await useKeys(world, { present: ['old', 'new'], active: 'new' })
  await resealAll(world)
}

/** Encrypts all stored secrets again under the new key, also those that a restore has brought back, if that key is active. */
export async function resealAll(world: World): Promise<void> {
  if (world.master_keys.active !== 'new') return
  while ((await reseal(world)) > 0) await sleep(PAUSE_MS)
  world.master_keys.is_replaced = true
}

/** Removes the old key, if it was replaced. Returns what is still under it. Nothing fails any more. */
export async function removeOldKey(world: World): Promise<readonly string[]> {
  if (!world.master_keys.is_replaced) return []
  const left = await reseal(world)
  await useKeys(world, { present: ['new'], active: 'new' })
  return [...sealedUnderOldKey(world), ...(left > 0 ? [`${left} secrets were under the old master key`] : [])]
}

async function useKeys(world: World, keys: Pick<MasterKeys, 'present' | 'active'>): Promise<void> {
  Object.assign(world.master_keys, keys)
  await rollOut(world, () => {})
}

/** Restarts the processes of these places, all unless given: first the first ones of all roles, then the second ones. */
export async function rollOut(
  world: World,
  change: (place: Place) => void,
  places: readonly Place[] = world.cluster.places,
): Promise<void> {
  const waves = Map.groupBy(places, ({ name }) => name.split('-').at(-1))
  for (const wave of waves.values()) {
    await Promise.all(
      wave.map(async (place) => {
        change(place)
        // Another fault may have ended its process, or is starting it.
        await untilServing(place)
        await world.cluster.stop(place, STOP_MAX_MS)
        await restart(world, place, 10)
        await untilServing(place)
      }),
    )
  }
}

async function untilServing(place: Place): Promise<void> {
  while (place.stop === undefined) await sleep(PAUSE_MS)
}

/** Encrypts the stored secrets again. Returns how many were under the old key, or may be because the command failed. */
async function reseal(world: World): Promise<number> {
  const { databases, stores, machine, master_keys, trace } = world
  let count = 0
  for (const { name, reseal: resealRole } of world.sealing_roles) {
    const database = databases.get(name)
    if (database === undefined || resealRole === undefined) continue
    const store = openSimulatedStore(database, stores.carry, () => new Date(machine.now_ms()))
    // The documents are what the role has stored under this declaration.
    const readDocuments = async function* (spec: { readonly name: string }) {
      yield* [...(database.named(spec.name)?.all() ?? [])]
    } as ReadDocuments
    try {
      for await (const { changed, left } of resealRole(store, readDocuments, master_keys.keys()))
        count += changed + left
    } catch {
      count += 1
    } finally {
      await store.close()
    }
  }
  trace.add(`reseal: ${count}`)
  return count
}

const KEPT_NAMES = /^(?:signatures?|payload_mac)$/

/** The documents that still have a text or bytes under the old key. Sealed bytes begin with the length of their key's id, and the id. */
function* sealedUnderOldKey({ databases }: World): Iterable<string> {
  const isSealed = (value: unknown): boolean => {
    if (typeof value === 'string') return value.startsWith('old.')
    if (value instanceof Uint8Array) return Buffer.from(value.subarray(0, 4)).toString('latin1') === '\x03old'
    if (typeof value !== 'object' || value === null) return false
    // What the ledger and the audit trail have signed stays under the key of its time, and so does the hash by which a refused withdrawal
    // knows its request again. After a restore it may stay (P19.11).
    return Object.entries(value).some(([name, one]) => !KEPT_NAMES.test(name) && isSealed(one))
  }
  for (const [role, database] of databases)
    for (const collection of database.collections())
      for (const document of collection.all())
        if (isSealed(document)) yield `a document of ${role} has a secret under the old master key`
}
