import { create, fromBinary, toBinary } from '@bufbuild/protobuf'
import { ReceiptSchema } from '#gen/multihub/events/v1/event_pb.ts'
import { Unavailable } from '#lib/contract/errors/unavailable.ts'
import type { Bus } from '#lib/platform/bus/port.ts'
import { randomHex } from '#lib/platform/crypto/random.ts'
import { log } from '#lib/platform/telemetry/log.ts'
import { gauge } from '#lib/platform/telemetry/metrics.ts'
import { clock } from '#lib/platform/time.ts'

/** The header that names where the receipt of an event is to be sent. */
export const RECEIPT_SUBJECT_HEADER = 'multihub-receipt-to'

/** The header with the key by which the receipt names the event. */
export const EVENT_KEY_HEADER = 'multihub-event-key'

/** Publishes events and knows which of them their consumer has stored. */
export interface Publisher {
  /**
   * Resolves when the consumer said that it has stored the event. Throws `Unavailable` when that did not come in
   * time: the event may have arrived or not, so it is published again under the same key.
   */
  publish(subject: string, event_key: string, data: Uint8Array): Promise<void>
  /** How many more events make sense now: none while flooded, one a second while no receipts come. */
  capacity(): number
  close(): Promise<void>
}

const RECEIPT_TIMEOUT_MS = 2_000
const PROBE_INTERVAL_MS = 1_000
const WAITING_MAX = 4_096

const silent = gauge(
  'multihub_event_receipts_missing',
  'Whether events are published without any receipt (0 or 1).',
)

interface Waiting {
  readonly resolve: () => void
  readonly reject: (error: Unavailable) => void
}

/**
 * Builds the publisher of a process. The bus carries an event at most once and remembers nothing, so only the
 * consumer's receipt ends the wait. While none arrive a single probe a second goes out instead of everything again.
 */
export async function createPublisher(bus: Bus): Promise<Publisher> {
  const receipt_subject = `receipts.${randomHex(8)}`
  const waiting = new Map<string, Waiting>()
  let answering = true
  let probed_at_ms = Number.NEGATIVE_INFINITY

  const setAnswering = (value: boolean): void => {
    if (answering !== value)
      log.warn({ state: value ? 'answered' : 'silent' }, 'the receipts of events changed state')
    answering = value
    silent.set({}, value ? 0 : 1)
  }

  const subscription = await bus.subscribe(receipt_subject, ({ data }) => {
    setAnswering(true)
    for (const event_key of fromBinary(ReceiptSchema, data).eventKeys) waiting.get(event_key)?.resolve()
  })

  async function publish(subject: string, event_key: string, data: Uint8Array): Promise<void> {
    if (!answering) probed_at_ms = clock.monotonic_ms()
    const receipt = Promise.withResolvers<void>()
    const timer = clock.after(RECEIPT_TIMEOUT_MS, () => {
      setAnswering(false)
      receipt.reject(new Unavailable('no receipt for an event came in time'))
    })
    waiting.set(event_key, receipt)
    try {
      // Both at once: a bus that hangs is given up by the time-out of the receipt too.
      const headers = { [RECEIPT_SUBJECT_HEADER]: receipt_subject, [EVENT_KEY_HEADER]: event_key }
      await Promise.all([bus.publish(subject, data, headers), receipt.promise])
    } catch (error) {
      if (!bus.connected()) setAnswering(false)
      throw error
    } finally {
      timer.cancel()
      waiting.delete(event_key)
    }
  }

  return {
    publish,
    capacity() {
      if (answering) return WAITING_MAX - waiting.size
      return clock.monotonic_ms() - probed_at_ms >= PROBE_INTERVAL_MS ? 1 : 0
    },
    async close() {
      for (const { reject } of waiting.values()) reject(new Unavailable('the process stops'))
      await subscription.close()
    },
  }
}

const RECEIPT_BATCH_MAX = 256
const RECEIPT_DELAY_MS = 5

/** Sends receipts in batches: a consumer that stores thousands of events a second answers with few messages. */
export function createReceiptSender(bus: Bus): { send(receipt_to: string, event_key: string): void } {
  const batches = new Map<string, string[]>()
  const flush = (receipt_to: string): void => {
    const event_keys = batches.get(receipt_to)
    batches.delete(receipt_to)
    if (!event_keys) return
    const data = toBinary(ReceiptSchema, create(ReceiptSchema, { eventKeys: event_keys }))
    // A receipt that is lost costs one more publication of a stored event and nothing else.
    bus
      .publish(receipt_to, data)
      .catch((error: unknown) => log.debug({ error }, 'a receipt could not be sent'))
  }
  return {
    send(receipt_to, event_key) {
      const batch = batches.get(receipt_to)
      if (!batch) {
        batches.set(receipt_to, [event_key])
        clock.after(RECEIPT_DELAY_MS, () => flush(receipt_to))
        return
      }
      batch.push(event_key)
      if (batch.length >= RECEIPT_BATCH_MAX) flush(receipt_to)
    },
  }
}
