import { defineEffect, isInstant, isText } from '#lib/patterns/effects/define-effect.ts'
import type { Effect, EffectDocument } from '#lib/patterns/effects/effect.ts'
import type { Owner } from './support-resource.ts'

/** A ticket, a refund or a chargeback, as the counts of the summaries know it (S11). */
export interface CountedResource extends EffectDocument, Owner {
  /** Since when a change of status waits to be counted. */
  readonly uncounted_since?: Date
}

/** A change of status, by the id of its resource and its number. */
interface CountedTransition {
  readonly resource_id: string
  readonly transition_number: number
}

/**
 * The effect that counts a change of status (S11): one resource less in `from`, one more in `to`. An empty text means no
 * status: before the creation and after the deletion.
 */
export const countStatusEffect = defineEffect({
  kind: 'count_status',
  lane: 'independent',
  data: { from: isText, to: isText, created_at: isInstant },
  id: ({ resource_id, transition_number }: CountedTransition) => `${resource_id}:${transition_number}:count`,
})

/** The effect that removes the mark of a counted change, which no longer waits in its resource. It runs in the background. */
export const forgetCountEffect = defineEffect({
  kind: 'forget_count',
  lane: 'event',
  data: { counted: isText, created_at: isInstant },
  id: (_resource: unknown, { counted }) => `${counted}:forget`,
})

/** The resource without the mark that a change waits to be counted, unless one does. */
export function withoutCounted<D extends CountedResource>(resource: D): D {
  if (resource.effects.some((effect: Effect) => countStatusEffect.matches(effect))) return resource
  const { uncounted_since: _, ...rest } = resource
  return rest as D
}
