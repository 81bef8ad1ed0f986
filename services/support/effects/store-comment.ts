import type { BoundEffect } from '#lib/patterns/effects/define-effect.ts'
import type { EffectDocument } from '#lib/patterns/effects/effect.ts'
import type { CarriedComment, StoreCommentEffect } from '../domain/comment-thread.ts'
import { STORE_EFFECT_LIMITS } from './store-effect-limits.ts'

/** Stores the comment that a resource has accepted. A comment that is stored already stays as it is. */
export function bindStoreComment<D extends EffectDocument, C extends CarriedComment>(
  effect: StoreCommentEffect<C>,
  store: (comment: C) => Promise<unknown>,
): BoundEffect<D> {
  return effect.bind<D>({
    ...STORE_EFFECT_LIMITS,
    async run({ data }) {
      await store(data.comment)
      return (current) => current
    },
  })
}
