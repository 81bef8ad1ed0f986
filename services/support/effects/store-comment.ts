import type { BoundEffect } from '#lib/patterns/effects/define-effect.ts'
import type { EffectDocument } from '#lib/patterns/effects/effect.ts'
import type { CarriedComment, StoreCommentEffect } from '../domain/comment-thread.ts'

/**
 * The limits of effects that only write to the store of this service: they fail only while it is unavailable, so they are
 * repeated for days before one waits for the operator.
 */
const STORE_EFFECT_LIMITS = {
  lease_ms: 5_000,
  tries_max: 20_000,
  backoff: { first_ms: 1_000, max_ms: 30_000 },
} as const

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
