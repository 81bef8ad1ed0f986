import type { Signer } from '#lib/base/crypto/signer.ts'
import { type BusAuth, createMessageCheck, RECEIPT_SUBJECT_HEADER } from '#lib/bus/authentication.ts'
import type { Bus, Subscription } from '#lib/bus/bus.ts'
import { ALL_EVENTS_SUBJECT, eventSubject, PAYMENT_EVENTS } from '#lib/contract/events.ts'
import { createReceiptSender, TRACEPARENT_HEADER } from '#lib/patterns/effects/publish-on-bus.ts'
import { inSpan } from '#lib/telemetry/span.ts'

/** How many events from the bus are handled at once. */
const EVENTS_IN_PROGRESS_MAX = 256

interface EventSourceDeps {
  readonly bus: Bus
  /** The keys of the roles that publish events, and the key of receipts. */
  readonly keys: Readonly<Record<'event_payments' | 'event_support' | 'receipt', Signer>>
  readonly bus_auth: BusAuth
}

const SUBJECTS_OF_PAYMENTS: readonly string[] = PAYMENT_EVENTS.map(eventSubject)

/**
 * Receives the events of the bus, each by one notifier: only what its publishing role has signed is stored, because the first
 * body under a key is the one that is delivered (O10). `receive` resolves with the event's key when the event is stored; then
 * its publisher gets a receipt.
 */
export function subscribeToEvents(
  { bus, keys, bus_auth }: EventSourceDeps,
  receive: (subject: string, data: Uint8Array) => Promise<string>,
): Promise<Subscription> {
  const isAuthentic = createMessageCheck('event', bus_auth)
  const receipts = createReceiptSender(bus, keys.receipt)
  return bus.subscribe(
    ALL_EVENTS_SUBJECT,
    async (message) => {
      const { subject, data, headers } = message
      const signer = SUBJECTS_OF_PAYMENTS.includes(subject) ? keys.event_payments : keys.event_support
      if (!isAuthentic(message, signer)) return
      const event_key = await inSpan(
        { name: 'receive_event', kind: 'consumer', stored: headers[TRACEPARENT_HEADER] },
        () => receive(subject, data),
      )
      const receipt_to = headers[RECEIPT_SUBJECT_HEADER]
      if (receipt_to !== undefined) receipts.send(receipt_to, event_key)
    },
    { queue_group: 'notifier', concurrency: EVENTS_IN_PROGRESS_MAX },
  )
}
