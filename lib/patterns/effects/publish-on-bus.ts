import { create, fromBinary, toBinary } from '@bufbuild/protobuf'
import { ReceiptSchema } from '#gen/multihub/events/v1/event_pb.ts'
import { randomHex } from '#lib/base/crypto/random.ts'
import type { Signer } from '#lib/base/crypto/signer.ts'
import { createGatherer } from '#lib/base/gather.ts'
import { createRate } from '#lib/base/limit.ts'
import { clock } from '#lib/base/time.ts'
import {
  type BusAuth,
  createMessageCheck,
  RECEIPT_SUBJECT_HEADER,
  signedHeaders,
} from '#lib/bus/authentication.ts'
import type { Bus } from '#lib/bus/bus.ts'
import { Unavailable } from '#lib/contract/errors/unavailable.ts'
import { log } from '#lib/telemetry/log.ts'
import { gauge } from '#lib/telemetry/metrics.ts'
import { currentTraceparent } from '#lib/telemetry/span.ts'
import { createBudget } from './budget.ts'

/** The header with the place of an event in its trace; absent when the trace is not recorded. */
export const TRACEPARENT_HEADER = 'traceparent'

const RECEIPT_TIMEOUT_MS = 2_000
const PROBE_INTERVAL_MS = 1_000
const PENDING_MAX = 4_096

/** How long published events may get no receipt at all before the bus counts as unusable (O10). */
export const SILENCE_MAX_MS = 5_000

const receipts_missing = gauge(
  'multihub_event_receipts_missing',
  'Whether the bus brings no receipts, so that events go to the notifier by RPC (0 or 1).',
)

/** What publishing on the bus needs. */
export interface BusPublisherDeps {
  readonly bus: Bus
  /** Signs the events of this role. */
  readonly event_signer: Signer
  /** Verifies receipts: another sender would make events disappear that nobody stored (O10). */
  readonly receipt_signer: Signer
  readonly bus_auth: BusAuth
}

interface PendingReceipt {
  readonly resolve: () => void
  readonly reject: (error: Unavailable) => void
}

/**
 * Publishes events on the bus and waits for the receipts of the notifier. The bus may lose an event, so only a receipt proves
 * that it was handled.
 */
export async function createBusPublisher({ bus, event_signer, receipt_signer, bus_auth }: BusPublisherDeps) {
  const receipt_subject = `receipts.${randomHex(8)}`
  const pending = new Map<string, PendingReceipt>()
  const probes = createRate(1, PROBE_INTERVAL_MS)
  /** When the first event was published after the last receipt. */
  let unanswered_since_ms: number | undefined
  let was_usable = true

  const report = (is_usable: boolean): boolean => {
    if (was_usable && !is_usable)
      log.warn({}, 'the bus brings no receipts; events go by RPC; check the notifier and the bus')
    if (!was_usable && is_usable) log.warn({}, 'the bus brings receipts again')
    was_usable = is_usable
    receipts_missing.set({}, is_usable ? 0 : 1)
    return is_usable
  }

  const isAuthentic = createMessageCheck('receipt', bus_auth)
  const subscription = await bus.subscribe(receipt_subject, (message) => {
    if (!isAuthentic(message, receipt_signer)) return
    unanswered_since_ms = undefined
    for (const event_key of fromBinary(ReceiptSchema, message.data).eventKeys)
      pending.get(event_key)?.resolve()
  })

  const send = (subject: string, data: Uint8Array): Promise<void> => {
    const traceparent = currentTraceparent()
    const headers = {
      [RECEIPT_SUBJECT_HEADER]: receipt_subject,
      ...(traceparent === undefined ? {} : { [TRACEPARENT_HEADER]: traceparent }),
    }
    return bus.publish(subject, data, signedHeaders(event_signer, subject, data, headers))
  }

  return {
    /** Whether the bus is connected and brings receipts, as far as this process knows. */
    isUsable(): boolean {
      if (!bus.isConnected()) {
        unanswered_since_ms = undefined
        return report(false)
      }
      const silence_ms = clock.monotonic_ms() - (unanswered_since_ms ?? clock.monotonic_ms())
      return report(silence_ms < SILENCE_MAX_MS)
    },
    /**
     * Resolves with the receipt of an event. Throws `Unavailable` without one within 2 s: the event may have arrived, so the
     * caller publishes it again under the same key.
     */
    async publish(subject: string, event_key: string, data: Uint8Array): Promise<void> {
      const receipt = Promise.withResolvers<void>()
      const timer = clock.after(RECEIPT_TIMEOUT_MS, () =>
        receipt.reject(new Unavailable('no receipt for an event within the time limit')),
      )
      pending.set(event_key, receipt)
      unanswered_since_ms ??= clock.monotonic_ms()
      try {
        // The timeout of the receipt also ends the wait for a bus that hangs.
        await Promise.all([send(subject, data), receipt.promise])
      } finally {
        timer.cancel()
        pending.delete(event_key)
      }
    },
    /** Publishes an event that goes another way too, once per second at most: its receipt shows that the bus works again. */
    probe(subject: string, data: Uint8Array): void {
      if (!bus.isConnected() || !probes.use()) return
      send(subject, data).catch((error: unknown) => log.debug({ error }, 'the bus could not be tried'))
    },
    /** Bounds the events that wait for receipts at once. */
    budget: createBudget(PENDING_MAX),
    async close(): Promise<void> {
      for (const { reject } of pending.values()) reject(new Unavailable('the process is stopping'))
      await subscription.close()
    },
  }
}

const RECEIPT_BATCH_MAX = 256

/**
 * Creates the sender of receipts. Those of one turn of the event loop leave in batches, because a store makes many events
 * durable at once. None waits for more, because its publisher waits.
 */
export function createReceiptSender(
  bus: Bus,
  signer: Signer,
): { send(receipt_to: string, event_key: string): void } {
  const sendReceipt = createGatherer<{ readonly receipt_to: string; readonly event_key: string }, void>({
    fits: (batch, { receipt_to }) => batch[0]?.receipt_to === receipt_to && batch.length < RECEIPT_BATCH_MAX,
    async send(batch) {
      const eventKeys = batch.map(({ event_key }) => event_key)
      const subject = batch[0]?.receipt_to ?? ''
      const data = toBinary(ReceiptSchema, create(ReceiptSchema, { eventKeys }))
      await bus.publish(subject, data, signedHeaders(signer, subject, data, {}))
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
