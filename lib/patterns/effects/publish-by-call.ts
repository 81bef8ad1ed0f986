import type { Client } from '@connectrpc/connect'
import type { DeliveryService } from '#gen/multihub/notifier/v1/delivery_service_pb.ts'
import { clock } from '#lib/base/time.ts'
import { PublicError } from '#lib/contract/errors/public-error.ts'
import { Unavailable } from '#lib/contract/errors/unavailable.ts'
import { type Budget, createBudget } from './budget.ts'

/** The RPC of the notifier that receives events. */
export type EventReceiver = Pick<Client<typeof DeliveryService>, 'receiveEvent'>

/** Three processes stay within the 256 that the notifier receives at once. */
const CALLS_MAX = 64
const CALL_TIMEOUT_MS = 3_000
const PAUSE_MS = 1_000

/** Whether an event was not received because the notifier cannot be reached or is full. */
export function isNotifierUnavailable(error: unknown): boolean {
  return error instanceof Unavailable || (error instanceof PublicError && error.code === 2002)
}

/**
 * Sends events to the notifier by RPC (O10), 64 at once. After a call that did not reach the notifier there is room for one
 * event per second, until one arrives.
 */
export function createCallPublisher(notifier: EventReceiver) {
  const calls = createBudget(CALLS_MAX)
  const reserved = createBudget(CALLS_MAX)
  let has_failed = false
  let responded_at_ms = Number.NEGATIVE_INFINITY
  let reserved_at_ms = Number.NEGATIVE_INFINITY

  const mayCall = (): boolean => {
    const since_ms = clock.monotonic_ms() - PAUSE_MS
    return !has_failed || responded_at_ms > since_ms || reserved_at_ms <= since_ms
  }
  const budget: Budget<unknown> = {
    hasRoom: () => mayCall() && reserved.hasRoom(),
    reserve(document) {
      if (!mayCall()) return undefined
      const release = reserved.reserve(document)
      if (release) reserved_at_ms = clock.monotonic_ms()
      return release
    },
  }
  return {
    /**
     * Resolves when the notifier has stored all that follows from the event. Throws what the notifier refuses it with, and
     * `Unavailable` or 2002 when it did not get there.
     */
    async send(event: Uint8Array): Promise<void> {
      // An event that was leased while the bus was usable has no room here yet.
      const release = calls.reserve(undefined)
      if (!release) throw new Unavailable(`more than ${CALLS_MAX} events are sent by RPC`)
      try {
        await notifier.receiveEvent({ event }, { timeoutMs: CALL_TIMEOUT_MS })
        has_failed = false
        responded_at_ms = clock.monotonic_ms()
      } catch (error) {
        has_failed = isNotifierUnavailable(error)
        throw error
      } finally {
        release()
      }
    },
    budget,
  }
}
