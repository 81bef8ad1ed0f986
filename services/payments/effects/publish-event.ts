import type { BoundEffect } from '#lib/patterns/effects/define-effect.ts'
import { publishEventEffect } from '#lib/patterns/effects/publish-event.ts'
import { type Publisher, publishEventHandler } from '#lib/patterns/effects/publisher.ts'
import type { StoredPayment } from '../domain/payment.ts'
import { bindPaymentEffect } from './bind-payment-effect.ts'

/** Publishes the events of payments. */
export function bindPublishEvent(publisher: Publisher): BoundEffect<StoredPayment> {
  return bindPaymentEffect(publishEventEffect, publishEventHandler(publisher))
}
