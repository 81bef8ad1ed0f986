import { eventSubject } from '#lib/contract/events.ts'
import type { BoundEffect } from '#lib/patterns/effects/define-effect.ts'
import type { Publisher } from '#lib/patterns/effects/publisher.ts'
import type { StoredPayment } from '../domain/payment.ts'
import { publishEventEffect } from '../domain/payment-event.ts'
import { bindPaymentEffect } from './bind-payment-effect.ts'

const LEASE_MS = 5_000
/** An event is not tried while no receipts arrive, so only an event that is refused for days uses up its tries. */
const TRIES_MAX = 20_000
const BACKOFF = { first_ms: 1_000, max_ms: 30_000 }

/** Publishes the event until its consumer confirms with a receipt that it has stored it. */
export function bindPublishEvent(publisher: Publisher): BoundEffect<StoredPayment> {
  return bindPaymentEffect(publishEventEffect, {
    lease_ms: LEASE_MS,
    tries_max: TRIES_MAX,
    backoff: BACKOFF,
    budget: publisher.budget,
    async run({ data: { event, event_key, message } }) {
      await publisher.publish(eventSubject(event), event_key, message)
      return (current) => current
    },
  })
}
