import type { Collection } from '#lib/platform/store/store.ts'
import { gauge } from '#lib/platform/telemetry/metrics.ts'
import { now } from '#lib/platform/time.ts'
import { dueAt, type EffectDocument, LANES } from './effect.ts'

const oldest_due = gauge(
  'multihub_effects_oldest_due_seconds',
  'How long the longest-waiting effect has been due, in the whole store.',
  ['documents', 'lane'],
)
const stuck_documents = gauge(
  'multihub_stuck_effect_documents',
  'Documents in the whole store with an effect that used up its tries and waits for the operator; 100 at most.',
  ['documents'],
)

const STUCK_MAX = 100

/**
 * Measures what waits in a collection: five small reads. All processes of a role measure the same store, because each of
 * them may be the only one that runs.
 */
export async function measureEffects<D extends EffectDocument>(
  documents: string,
  collection: Collection<D>,
): Promise<void> {
  const at = now()
  for (const lane of LANES) {
    const [first] = await collection.find(`by_${lane}_due`, { to: at }, { limit: 1 })
    const due_at = first && dueAt(first, lane)
    oldest_due.set({ documents, lane }, due_at ? (at.getTime() - due_at.getTime()) / 1_000 : 0)
  }
  const stuck = await collection.find('by_stuck', {}, { limit: STUCK_MAX })
  stuck_documents.set({ documents }, stuck.length)
}
