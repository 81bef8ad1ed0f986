import type { Collection, Fields } from '#lib/store/store.ts'
import { type EffectDocument, LANES, type Lane } from './effect.ts'
import type { EffectWrites } from './writes.ts'

interface GiveSlotsOptions<D extends EffectDocument> {
  readonly collection: Pick<Collection<D>, 'find'>
  readonly keyOf: (document: D) => Fields
  readonly writes: Pick<EffectWrites<D>, 'updateUnleased'>
  /** Whether this process writes now. */
  readonly mayLease: () => boolean
}

const PAGE_SIZE = 64
const PAGES_MAX = 256
/** How much is read of a lane in turn, while all of it has no slot: mostly one document. */
const LIMITS: readonly number[] = [1, ...new Array<number>(PAGES_MAX).fill(PAGE_SIZE)]

/**
 * Gives a slot to the documents with due effects that were stored without one, as a restore of an old backup stores them: no sweep,
 * takeover or measurement finds them before. They come first in the index of each lane, so without any this reads one document per lane.
 */
export async function giveSlots<D extends EffectDocument>(options: GiveSlotsOptions<D>): Promise<void> {
  for (const lane of LANES) {
    for (const limit of LIMITS) {
      if (!options.mayLease()) return
      if ((await giveSlotsTo(lane, limit, options)) < limit) break
    }
  }
}

async function giveSlotsTo<D extends EffectDocument>(
  lane: Lane,
  limit: number,
  { collection, keyOf, writes }: GiveSlotsOptions<D>,
): Promise<number> {
  const page = await collection.find(`by_${lane}_slot`, {}, { limit })
  const without = page.filter(({ slot }) => slot === undefined)
  const addSlot = (current: D): D | undefined => (current.slot === undefined ? { ...current } : undefined)
  await Promise.all(without.map((each) => writes.updateUnleased(keyOf(each), addSlot, each)))
  return without.length
}
