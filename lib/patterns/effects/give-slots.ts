import type { Collection, Fields, Stored } from '#lib/store/store.ts'
import { log } from '#lib/telemetry/log.ts'
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
 * A document that cannot be written is logged, and stops none of the others.
 */
export async function giveSlots<D extends EffectDocument>(options: GiveSlotsOptions<D>): Promise<void> {
  for (const lane of LANES) await giveSlotsIn(lane, options)
}

async function giveSlotsIn<D extends EffectDocument>(
  lane: Lane,
  { collection, keyOf, writes, mayLease }: GiveSlotsOptions<D>,
): Promise<void> {
  const addSlot = (current: D): D | undefined => (current.slot === undefined ? { ...current } : undefined)
  const giveSlot = async (document: Stored<D>): Promise<void> => {
    try {
      await writes.updateUnleased(keyOf(document), addSlot, document)
    } catch (error) {
      logNotGiven(error, document)
    }
  }
  let after: Readonly<Record<string, unknown>> | undefined
  for (const limit of LIMITS) {
    if (!mayLease()) return
    const page = await collection.find(`by_${lane}_slot`, {}, { limit, after })
    const without = page.filter(({ slot }) => slot === undefined)
    await Promise.all(without.map(giveSlot))
    if (without.length < limit) return
    after = { ...page.at(-1) }
  }
}

/** The ids of the effects name the document: a key may have fields that no log line may carry. */
function logNotGiven(error: unknown, { effects }: EffectDocument): void {
  log.warn(
    { error, effect: effects.map(({ id }) => id) },
    'a document could not be given a slot; this is tried again, and its effects do not run before',
  )
}
