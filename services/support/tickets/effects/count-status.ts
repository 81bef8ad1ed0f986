import type { BoundEffect } from '#lib/patterns/effects/define-effect.ts'
import type { Collection } from '#lib/platform/store/store.ts'
import { now } from '#lib/platform/time.ts'
import type { PeriodCounts } from '../domain/count-periods.ts'
import type { Ticket } from '../domain/ticket.ts'
import { countStatusEffect, forgetCountEffect } from '../domain/ticket-effects.ts'
import { withoutCounted } from '../domain/transition.ts'
import { countChange } from '../store/period-counts.ts'
import { STORE_EFFECT_LIMITS } from './store-effect-limits.ts'

/**
 * Counts a change of status (S11). A repetition counts nothing, because each period keeps the ids of the changes that may
 * still wait in their tickets. When this effect is gone, another one removes that id.
 */
export function bindCountStatus(counts: Collection<PeriodCounts>): BoundEffect<Ticket> {
  return countStatusEffect.bind<Ticket>({
    ...STORE_EFFECT_LIMITS,
    async run({ id, data: { from, to, created_at } }, ticket) {
      await countChange(counts, { ...ticket, created_at, id, from, to })
      const forget = forgetCountEffect.newEffect(ticket, { counted: id, created_at }, { at: now() })
      return (current) => withoutCounted({ ...current, effects: [...current.effects, forget] })
    },
  })
}
