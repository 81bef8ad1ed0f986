import { now } from '#lib/base/time.ts'
import type { Collection } from '#lib/store/store.ts'
import { gauge, measureOrForget } from '#lib/telemetry/metrics.ts'
import { rankMembers } from '../membership/membership.ts'
import { oldest_due_callback } from '../oldest-due-callback.ts'
import { dueAt, type EffectDocument, LANES, type Lane } from './effect.ts'
import type { Runs } from './runs.ts'
import { dueRanges } from './slots.ts'

const oldest_due = gauge(
  'multihub_effects_oldest_due_seconds',
  'How long the longest-waiting effect has been due, its failed tries included, in the whole store.',
  ['documents', 'lane'],
)
const due_documents = gauge(
  'multihub_effects_due',
  'Documents in the whole store with an effect that is due and that no process has taken yet; 1,000 at most. One process of the role counts them. Retries that wait and calls of providers are not counted.',
  ['documents', 'lane'],
)
const stuck_documents = gauge(
  'multihub_stuck_effect_documents',
  'Documents in the whole store with an effect that used up its tries and waits for the operator; 100 at most.',
  ['documents'],
)

const STUCK_MAX = 100

/**
 * The most documents that the process which counts them reads of each lane: enough for all pods of an autoscaler. Due work of the lanes
 * `money` and `event` is counted, because more processes run it sooner. Calls of providers are not, because a provider that hangs
 * would start processes that cannot help.
 */
const READ_MAX: Readonly<Record<Lane, number>> = { money: 1_000, independent: 1, external: 1, event: 1_000 }

/**
 * Measures what waits in a collection, by small reads. An effect has been due since the first time that it could
 * run: a failed try, a crash or a postponement ends nothing, but a repeated one, such as a poll, begins anew with each run. All
 * processes of a role measure the same store, because each of them may be the only one that runs. Only the first of their ranking
 * counts what is due, because it reads each document that it counts. When a read fails, the
 * metrics of the collection have no value.
 */
export function measureEffects<D extends EffectDocument>(
  documents: string,
  collection: Collection<D>,
  runs: Pick<Runs, 'run_id' | 'live'>,
): Promise<void> {
  return measureOrForget(
    () => readAndSet(documents, collection, rankMembers(documents, runs.live())[0] === runs.run_id),
    () => {
      for (const lane of LANES) {
        oldest_due.remove({ documents, lane })
        due_documents.remove({ documents, lane })
      }
      oldest_due_callback.remove({ waits_in: documents })
      stuck_documents.remove({ documents })
    },
  )
}

async function readAndSet<D extends EffectDocument>(
  documents: string,
  collection: Collection<D>,
  counts: boolean,
): Promise<void> {
  const at = now()
  for (const lane of LANES) {
    const limit = counts ? READ_MAX[lane] : 1
    const due = await collection.find(`by_${lane}_slot`, dueRanges({ to: at }), { limit })
    const [delayed] = await collection.find('by_delayed', { equals: [lane], to: at }, { limit: 1 })
    const times = [due[0] && dueAt(due[0], lane), delayed?.delayed_since]
    const oldest_ms = Math.min(...times.map((time) => time?.getTime() ?? at.getTime()))
    const seconds = (at.getTime() - oldest_ms) / 1_000
    oldest_due.set({ documents, lane }, seconds)
    if (limit > 1) due_documents.set({ documents, lane }, due.length)
    else due_documents.remove({ documents, lane })
    if (lane === 'event') oldest_due_callback.set({ waits_in: documents }, seconds)
  }
  const stuck = await collection.find('by_stuck', {}, { limit: STUCK_MAX })
  stuck_documents.set({ documents }, stuck.length)
}
