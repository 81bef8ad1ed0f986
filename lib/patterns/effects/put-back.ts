import { now } from '#lib/base/time.ts'
import type { DocumentChange } from './define-effect.ts'
import { dueAgain, type Effect, type EffectDocument } from './effect.ts'

/**
 * The change after a try that does not count: the effect is due again at once. A handler returns it instead of
 * throwing, when the try failed because a party is down that all effects of the kind need. Until that party is back,
 * the budget of the kind must limit the tries.
 */
export function putBack<D extends EffectDocument>(effect: Effect): DocumentChange<D> {
  const { lease: _released, ...rest } = effect
  // One more of its tries does not count.
  const again = dueAgain({ ...rest, tries_at_retry: (effect.tries_at_retry ?? 0) + 1 }, now())
  // The change of a handler gets the document without the effect that ran, so it is added here, not replaced.
  return (document) => ({ ...document, effects: [...document.effects, again] })
}
