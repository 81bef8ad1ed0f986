import { update, upsert } from '#lib/patterns/update.ts'
import type { Collection, CollectionSpec } from '#lib/store/store.ts'
import { type PeriodCounts, type Slot, slotsOf } from '../domain/count-periods.ts'
import { moveCount } from '../domain/status-counts.ts'

/** A collection of counts, one document per period. The period is part of the partition, so that they spread. */
export function periodCounts(name: `${'ticket' | 'refund' | 'chargeback'}_counts`): CollectionSpec {
  const key = ['merchant_id', 'environment', 'period']
  return { name, partition: key, key }
}

/** A change of status of a resource that was created at `created_at`. `id` names the change. */
export interface CountedChange extends Pick<PeriodCounts, 'merchant_id' | 'environment'> {
  readonly created_at: Date
  readonly id: string
}

/**
 * Counts a change in its day and its minute, once per id. `isWaiting` reads whether the change still waits in its resource. It
 * is asked after the counts were read: a change that waits then was not forgotten before, and the guarded write fails if
 * anything was counted since. So a process that was paused for long counts nothing twice.
 */
export async function countChange(
  counts: Collection<PeriodCounts>,
  change: CountedChange & { readonly from: string; readonly to: string },
  isWaiting: () => Promise<boolean>,
): Promise<void> {
  const { id, from, to } = change
  await Promise.all(
    slotsOf(change.created_at).map(({ period, slot }) => {
      let is_waiting = false
      const checked: Pick<Collection<PeriodCounts>, 'get' | 'insert' | 'replace'> = {
        insert: (document) => counts.insert(document),
        replace: (document, version) => counts.replace(document, version),
        async get(key) {
          const current = await counts.get(key)
          is_waiting = await isWaiting()
          return current
        },
      }
      return upsert(checked, keyOf(change, period), (current) => {
        if (!is_waiting || current?.counted.includes(id)) return undefined
        const { slots = {}, counted = [] }: Partial<PeriodCounts> = current ?? {}
        const moved = moveCount(slots[slot] ?? {}, from, to)
        return { ...keyOf(change, period), slots: { ...slots, [slot]: moved }, counted: [...counted, id] }
      })
    }),
  )
}

/** Removes the id of a change that cannot be counted again. */
export async function forgetChange(counts: Collection<PeriodCounts>, change: CountedChange): Promise<void> {
  const { id } = change
  await Promise.all(
    slotsOf(change.created_at).map(({ period }) =>
      update(counts, keyOf(change, period), (current) =>
        current.counted.includes(id)
          ? { ...current, counted: current.counted.filter((counted) => counted !== id) }
          : undefined,
      ),
    ),
  )
}

function keyOf(
  { merchant_id, environment }: CountedChange,
  period: Slot['period'],
): Readonly<Record<'merchant_id' | 'environment' | 'period', string>> {
  return { merchant_id, environment, period }
}

const FIND_MAX = 100

/** The counts of the periods from `first` to `last`, both included, in pages, so that memory stays small. */
export async function* readPeriods(
  counts: Pick<Collection<PeriodCounts>, 'find'>,
  merchant_id: string,
  environment: string,
  [first, last]: readonly [string, string],
): AsyncGenerator<PeriodCounts> {
  const range = { equals: [merchant_id, environment], from: first, to: `${last}~` }
  let page = await counts.find('key', range, { limit: FIND_MAX })
  for (;;) {
    yield* page
    const after = page.length === FIND_MAX ? page.at(-1) : undefined
    if (!after) return
    page = await counts.find('key', range, { limit: FIND_MAX, after: { ...after } })
  }
}
