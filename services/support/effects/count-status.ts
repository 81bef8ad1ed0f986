import type { BoundEffect } from '#lib/patterns/effects/define-effect.ts'
import type { Collection } from '#lib/platform/store/store.ts'
import { now } from '#lib/platform/time.ts'
import type { PeriodCounts } from '../domain/count-periods.ts'
import {
  type CountedResource,
  countStatusEffect,
  forgetCountEffect,
  withoutCounted,
} from '../domain/counted-resource.ts'
import { countChange } from '../store/period-counts.ts'
import { STORE_EFFECT_LIMITS } from './store-effect-limits.ts'

/**
 * Counts a change of status (S11). A repetition counts nothing, because each period keeps the ids of the changes that may
 * still wait in their resources. When this effect is gone, another one removes that id.
 */
export function bindCountStatus<D extends CountedResource>(counts: Collection<PeriodCounts>): BoundEffect<D> {
  return countStatusEffect.bind<D>({
    ...STORE_EFFECT_LIMITS,
    async run({ id, data: { from, to, created_at } }, resource) {
      const { merchant_id, environment } = resource
      await countChange(counts, { merchant_id, environment, created_at, id, from, to })
      const forget = forgetCountEffect.newEffect(resource, { counted: id, created_at }, { at: now() })
      return (current) => withoutCounted({ ...current, effects: [...current.effects, forget] })
    },
  })
}
