import { now } from '#lib/platform/time.ts'
import type { DocumentChange } from './define-effect.ts'
import { dueAgain, type Effect, type EffectDocument } from './effect.ts'

/**
 * Returns the outcome of a try that does not count: the effect is due again at once. For tries that failed because the party
 * that all effects of the kind need is gone. Their budget must bound them until it returns.
 */
export function putBack<D extends EffectDocument>(effect: Effect): DocumentChange<D> {
  const { lease: _released, ...rest } = effect
  const again = dueAgain({ ...rest, tries_at_retry: (effect.tries_at_retry ?? 0) + 1 }, now())
  return (document) => ({ ...document, effects: [...document.effects, again] })
}
