import { create, fromBinary, toBinary } from '@bufbuild/protobuf'
import { ReceiptSchema } from '#gen/multihub/events/v1/event_pb.ts'
import { randomHex } from '#lib/base/crypto/random.ts'
import { createGatherer } from '#lib/base/gather.ts'
import { clock } from '#lib/base/time.ts'
import type { Bus } from '#lib/bus/bus.ts'
import { Unavailable } from '#lib/contract/errors/unavailable.ts'
import { eventSubject } from '#lib/contract/events.ts'
import { log } from '#lib/telemetry/log.ts'
import { gauge } from '#lib/telemetry/metrics.ts'
import { currentTraceparent } from '#lib/telemetry/span.ts'
import { type Budget, createBudget } from './budget.ts'
import type { DocumentChange, TypedEffect } from './define-effect.ts'
import type { EffectDocument } from './effect.ts'
import { putBack } from './outcomes.ts'

/** The header with the subject to which the receipt of an event is sent. */
export const RECEIPT_SUBJECT_HEADER = 'multihub-receipt-to'

/** The header with the place of an event in its trace; absent when the trace is not recorded. */
export const TRACEPARENT_HEADER = 'traceparent'

/** Publishes events and waits for the receipts of their consumer. */
export type Publisher = Awaited<ReturnType<typeof createPublisher>>

const RECEIPT_TIMEOUT_MS = 2_000
const PROBE_INTERVAL_MS = 1_000
const PENDING_MAX = 4_096

/**
 * How many events may miss their receipts, without one receipt in between, before only probes are published. A few are
 * missing after a pause of the consumer, or when it cannot store some event.
 */
export const RECEIPTS_MISSED_MAX = 5

const receipts_missing = gauge(
  'multihub_event_receipts_missing',
  'Whether published events get no receipts (0 or 1).',
)

interface PendingReceipt {
  readonly resolve: () => void
  readonly reject: (error: Unavailable) => void
}

/**
 * Creates the publisher of a process. The bus may lose an event, so only a receipt of the consumer proves that it was
 * handled. While no receipts arrive, one event per second is published as a probe instead of all of them.
 */
export async function createPublisher(bus: Bus) {
  const receipt_subject = `receipts.${randomHex(8)}`
  const pending = new Map<string, PendingReceipt>()
  let gets_receipts = true
  let missed = 0
  let probed_at_ms = Number.NEGATIVE_INFINITY

  const setGetsReceipts = (value: boolean): void => {
    if (gets_receipts && !value)
      log.warn({}, 'published events get no receipts; check the notifier and the bus')
    if (!gets_receipts && value) log.warn({}, 'published events get receipts again')
    gets_receipts = value
    receipts_missing.set({}, value ? 0 : 1)
  }

  const subscription = await bus.subscribe(receipt_subject, ({ data }) => {
    missed = 0
    setGetsReceipts(true)
    for (const event_key of fromBinary(ReceiptSchema, data).eventKeys) pending.get(event_key)?.resolve()
  })

  /**
   * Resolves when the consumer confirms with a receipt that it does not need the event again: it has stored all that
   * follows from it, which is nothing for an event without a destination. `data` contains the `event_key`, which the
   * receipt repeats. Throws `Unavailable` without a receipt within 2 s: the event may have arrived, so the
   * caller publishes it again under the same key.
   */
  async function publish(subject: string, event_key: string, data: Uint8Array): Promise<void> {
    const receipt = Promise.withResolvers<void>()
    const timer = clock.after(RECEIPT_TIMEOUT_MS, () => {
      missed += 1
      if (missed >= RECEIPTS_MISSED_MAX) setGetsReceipts(false)
      receipt.reject(new Unavailable('no receipt for an event within the time limit'))
    })
    pending.set(event_key, receipt)
    try {
      const traceparent = currentTraceparent()
      const headers = {
        [RECEIPT_SUBJECT_HEADER]: receipt_subject,
        ...(traceparent === undefined ? {} : { [TRACEPARENT_HEADER]: traceparent }),
      }
      // The timeout of the receipt also ends the wait for a bus that hangs.
      await Promise.all([bus.publish(subject, data, headers), receipt.promise])
    } catch (error) {
      if (!bus.isConnected()) setGetsReceipts(false)
      throw error
    } finally {
      timer.cancel()
      pending.delete(event_key)
    }
  }

  const pending_budget = createBudget(PENDING_MAX)
  const mayPublish = (): boolean => {
    if (!bus.isConnected()) {
      setGetsReceipts(false)
      probed_at_ms = Number.NEGATIVE_INFINITY
      return false
    }
    return gets_receipts || clock.monotonic_ms() - probed_at_ms >= PROBE_INTERVAL_MS
  }
  /**
   * Bounds the events that are published at once. While no receipts arrive, it has room for one event per second, the first
   * of them as soon as the bus is connected again; without a connection it has none.
   */
  const budget: Budget<unknown> = {
    hasRoom: () => mayPublish() && pending_budget.hasRoom(),
    reserve(document) {
      if (!mayPublish()) return undefined
      const release = pending_budget.reserve(document)
      // The probe is used up here, before the event is leased and published, so that no second event gets room.
      if (release && !gets_receipts) probed_at_ms = clock.monotonic_ms()
      return release
    },
  }

  return {
    publish,
    /** Whether events get receipts, as far as this process knows. */
    getsReceipts: () => gets_receipts,
    budget,
    async close(): Promise<void> {
      for (const { reject } of pending.values()) reject(new Unavailable('the process is stopping'))
      await subscription.close()
    },
  }
}

type PublishedEvent = { readonly event_key: string; readonly event: string; readonly message: Uint8Array }

const LEASE_MS = 5_000
/** Tries while no event gets a receipt do not count, so only an event that is refused for days uses up its tries. */
const TRIES_MAX = 20_000
const BACKOFF = { first_ms: 1_000, max_ms: 30_000 }

/**
 * The handler that publishes an event until a receipt confirms that its consumer does not need it again. An event without a
 * receipt is tried again at growing intervals if other events get receipts. If no event gets one, it stays due, so that it
 * leaves as soon as the bus and the notifier are back; the budget of the publisher bounds the tries until then.
 */
export function publishEventHandler(publisher: Publisher) {
  return {
    lease_ms: LEASE_MS,
    tries_max: TRIES_MAX,
    backoff: BACKOFF,
    budget: publisher.budget,
    async run<D extends EffectDocument>(effect: TypedEffect<PublishedEvent>): Promise<DocumentChange<D>> {
      const { event, event_key, message } = effect.data
      try {
        await publisher.publish(eventSubject(event), event_key, message)
      } catch (error) {
        if (publisher.getsReceipts()) throw error
        return putBack(effect)
      }
      return (current) => current
    },
  }
}

const RECEIPT_BATCH_MAX = 256

/**
 * Creates the sender of receipts. Those of one turn of the event loop leave in batches, because a store makes many events
 * durable at once. None waits for more, because its publisher waits.
 */
export function createReceiptSender(bus: Bus): { send(receipt_to: string, event_key: string): void } {
  const sendReceipt = createGatherer<{ readonly receipt_to: string; readonly event_key: string }, void>({
    fits: (batch, { receipt_to }) => batch[0]?.receipt_to === receipt_to && batch.length < RECEIPT_BATCH_MAX,
    async send(batch) {
      const eventKeys = batch.map(({ event_key }) => event_key)
      await bus.publish(
        batch[0]?.receipt_to ?? '',
        toBinary(ReceiptSchema, create(ReceiptSchema, { eventKeys })),
      )
      return batch.map(() => ({ value: undefined }))
    },
  })
  return {
    send(receipt_to, event_key) {
      // The only effect of a lost receipt is that a stored event is published once more.
      sendReceipt({ receipt_to, event_key }).catch((error: unknown) =>
        log.debug({ error }, 'a receipt could not be sent'),
      )
    },
  }
}
