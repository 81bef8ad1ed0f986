import type { BoundEffect } from '#lib/patterns/effects/define-effect.ts'
import type { Collection } from '#lib/store/store.ts'
import type { PeriodCounts } from '../domain/count-periods.ts'
import type { CountedResource } from '../domain/counted-resource.ts'
import { forgetCountEffect } from '../domain/counted-resource.ts'
import { forgetChange } from '../store/period-counts.ts'
import { STORE_EFFECT_LIMITS } from './store-effect-limits.ts'

/** Removes the id of a counted change from the counts, where it is needed only while the change can be counted again. */
export function bindForgetCount<D extends CountedResource>(counts: Collection<PeriodCounts>): BoundEffect<D> {
  return forgetCountEffect.bind<D>({
    ...STORE_EFFECT_LIMITS,
    async run({ data: { counted, created_at } }, { merchant_id, environment }) {
      await forgetChange(counts, { merchant_id, environment, created_at, id: counted })
      return (current) => current
    },
  })
}
