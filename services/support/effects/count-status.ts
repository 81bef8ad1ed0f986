import { now } from '#lib/base/time.ts'
import type { BoundEffect } from '#lib/patterns/effects/define-effect.ts'
import type { Collection, Fields } from '#lib/store/store.ts'
import type { PeriodCounts } from '../domain/count-periods.ts'
import {
  type CountedResource,
  countStatusEffect,
  forgetCountEffect,
  withoutCounted,
} from '../domain/counted-resource.ts'
import { countChange } from '../store/period-counts.ts'
import { STORE_EFFECT_LIMITS } from './store-effect-limits.ts'

/** The resources whose changes are counted. */
export interface CountedResources<D extends CountedResource> {
  readonly collection: Collection<D>
  readonly keyOf: (resource: D) => Fields
}

/**
 * Counts a change of status (S11). A repetition counts nothing, because each period keeps the ids of the changes that may
 * still wait in their resources, and a change that waits no more is not counted. When this effect is gone, another one
 * removes that id.
 */
export function bindCountStatus<D extends CountedResource>(
  counts: Collection<PeriodCounts>,
  { collection, keyOf }: CountedResources<D>,
): BoundEffect<D> {
  return countStatusEffect.bind<D>({
    ...STORE_EFFECT_LIMITS,
    async run({ id, data: { from, to, created_at } }, resource) {
      const { merchant_id, environment } = resource
      const change = { merchant_id, environment, created_at, id, from, to }
      await countChange(counts, change, async () => {
        const current = await collection.get(keyOf(resource), { linearizable: true })
        return current?.effects.some((effect) => effect.id === id) ?? false
      })
      const forget = forgetCountEffect.newEffect(resource, { counted: id, created_at }, { at: now() })
      return (current) => withoutCounted({ ...current, effects: [...current.effects, forget] })
    },
  })
}
