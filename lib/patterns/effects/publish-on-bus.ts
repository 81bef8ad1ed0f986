import { create, fromBinary, toBinary } from '@bufbuild/protobuf'
import { ReceiptSchema } from '#gen/multihub/events/v1/event_pb.ts'
import { randomHex } from '#lib/base/crypto/random.ts'
import type { Signer } from '#lib/base/crypto/signer.ts'
import { createGatherer } from '#lib/base/gather.ts'
import { clock, every } from '#lib/base/time.ts'
import {
  type BusAuth,
  createMessageCheck,
  RECEIPT_SUBJECT_HEADER,
  signedHeaders,
} from '#lib/bus/authentication.ts'
import type { Bus } from '#lib/bus/bus.ts'
import { Unavailable } from '#lib/contract/errors/unavailable.ts'
import { log } from '#lib/telemetry/log.ts'
import { level } from '#lib/telemetry/metrics.ts'
import { currentTraceparent } from '#lib/telemetry/span.ts'
import { createBudget } from './budget.ts'

/** The header with the place of an event in its trace; absent when the trace is not recorded. */
export const TRACEPARENT_HEADER = 'traceparent'

/** The subject of receipts, followed by the id of the publisher. */
export const RECEIPTS_SUBJECT = 'receipts'

const RECEIPT_TIMEOUT_MS = 2_000
const PROBE_INTERVAL_MS = 1_000
const PENDING_MAX = 4_096

/** How long published events may get no receipt at all before the bus counts as unusable (O10). */
export const SILENCE_MAX_MS = 5_000

/** For how long a silent bus is tried with the latest event. The alert on missing receipts waits for less. */
export const PROBE_AGE_MAX_MS = 600_000

const receipts_missing = level(
  'multihub_event_receipts_missing',
  'Roles of this process to which the bus brings no receipts, so that their events go to the notifier by RPC.',
).of({})

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

type Send = (subject: string, data: Uint8Array) => Promise<void>

/**
 * Watches whether the bus is connected and brings receipts. While it brings none, it is tried once per second with the latest
 * event, also when nothing is published: the receipt shows that the bus works again.
 */
function watchReceipts(bus: Pick<Bus, 'isConnected'>, send: Send) {
  /** When the first event was published after the last receipt. */
  let unanswered_since_ms: number | undefined
  let was_usable = true
  /** The latest event, whichever way it went. */
  let latest: { readonly subject: string; readonly data: Uint8Array; readonly at_ms: number } | undefined

  const report = (is_usable: boolean): boolean => {
    if (was_usable && !is_usable)
      log.warn({}, 'the bus brings no receipts; events go by RPC; check the notifier and the bus')
    if (!was_usable && is_usable) log.warn({}, 'the bus brings receipts again')
    receipts_missing.value += Number(was_usable) - Number(is_usable)
    was_usable = is_usable
    return is_usable
  }
  const isUsable = (): boolean => {
    if (!bus.isConnected()) {
      unanswered_since_ms = undefined
      return report(false)
    }
    const silence_ms = clock.monotonic_ms() - (unanswered_since_ms ?? clock.monotonic_ms())
    return report(silence_ms < SILENCE_MAX_MS)
  }
  const logFailure = (error: unknown): void => log.debug({ error }, 'the bus could not be tried')
  const tryBus = async (): Promise<void> => {
    if (isUsable() || !bus.isConnected()) return
    if (latest !== undefined && clock.monotonic_ms() - latest.at_ms < PROBE_AGE_MAX_MS) {
      // A bus that hangs must not keep the next try away.
      send(latest.subject, latest.data).catch(logFailure)
      return
    }
    // An old event must not be sent again, so the next one shows what the bus does.
    unanswered_since_ms = undefined
    isUsable()
  }
  const trying = every(PROBE_INTERVAL_MS, tryBus, logFailure)

  return {
    isUsable,
    /** Takes note of an event that is sent, over the bus or by RPC. */
    noteEvent(subject: string, data: Uint8Array): void {
      latest = { subject, data, at_ms: clock.monotonic_ms() }
    },
    /** An event was published on the bus, so a receipt must come. */
    expectReceipt(): void {
      unanswered_since_ms ??= clock.monotonic_ms()
    },
    noteReceipt(): void {
      unanswered_since_ms = undefined
    },
    close(): void {
      trying.cancel()
      receipts_missing.value -= Number(!was_usable)
    },
  }
}

/**
 * Publishes events on the bus and waits for the receipts of the notifier. The bus may lose an event, so only a receipt proves
 * that it was handled.
 */
export async function createBusPublisher({ bus, event_signer, receipt_signer, bus_auth }: BusPublisherDeps) {
  const receipt_subject = `${RECEIPTS_SUBJECT}.${randomHex(8)}`
  const pending = new Map<string, PendingReceipt>()

  const send: Send = (subject, data) => {
    const traceparent = currentTraceparent()
    const headers = {
      [RECEIPT_SUBJECT_HEADER]: receipt_subject,
      ...(traceparent === undefined ? {} : { [TRACEPARENT_HEADER]: traceparent }),
    }
    return bus.publish(subject, data, signedHeaders(event_signer, subject, data, headers))
  }
  const watch = watchReceipts(bus, send)

  const isAuthentic = createMessageCheck('receipt', bus_auth)
  const subscription = await bus.subscribe(receipt_subject, (message) => {
    if (!isAuthentic(message, receipt_signer)) return
    watch.noteReceipt()
    for (const event_key of fromBinary(ReceiptSchema, message.data).eventKeys)
      pending.get(event_key)?.resolve()
  })

  return {
    /** Whether the bus is connected and brings receipts, as far as this process knows. */
    isUsable: watch.isUsable,
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
      watch.noteEvent(subject, data)
      watch.expectReceipt()
      try {
        // The timeout of the receipt also ends the wait for a bus that hangs.
        await Promise.all([send(subject, data), receipt.promise])
      } finally {
        timer.cancel()
        pending.delete(event_key)
      }
    },
    /** Takes note of an event that goes another way: a silent bus is tried with it. */
    noteEvent: watch.noteEvent,
    /** Bounds the events that wait for receipts at once. */
    budget: createBudget(PENDING_MAX),
    async close(): Promise<void> {
      watch.close()
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
