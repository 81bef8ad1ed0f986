import type { BoundEffect } from '#lib/patterns/effects/define-effect.ts'
import type { EffectDocument } from '#lib/patterns/effects/effect.ts'
import { publishEventEffect } from '#lib/patterns/effects/publish-event.ts'
import { type Publisher, publishEventHandler } from '#lib/patterns/effects/publisher.ts'

/** Publishes the events of any resource of support, until their consumer confirms them with a receipt (S12). */
export function bindPublishEvent<D extends EffectDocument>(publisher: Publisher): BoundEffect<D> {
  return publishEventEffect.bind<D>(publishEventHandler(publisher))
}
