import { type BoundEffect, defineEffect } from '#lib/patterns/effects/define-effect.ts'
import type { Effect } from '#lib/patterns/effects/effect.ts'
import { randomFraction } from '#lib/platform/crypto/random.ts'
import type { Secret } from '#lib/platform/crypto/secret.ts'
import { toPublicError } from '#lib/platform/rpc/translate-errors.ts'
import { log } from '#lib/platform/telemetry/log.ts'
import { clock, now } from '#lib/platform/time.ts'
import type { PostDelivery, PostResult } from '../delivery/post-delivery.ts'
import { signDelivery } from '../delivery/sign-delivery.ts'
import type { AttemptRecord, Delivery } from '../domain/delivery.ts'
import type { StoredEvent } from '../domain/event.ts'

/** What an attempt reads and calls. */
export interface AttemptDeliveryDeps {
  findEvent(delivery: Delivery): Promise<StoredEvent | undefined>
  /** The secret that signs for the destination now; `undefined` when none was issued or the endpoint is deleted. */
  findSecret(delivery: Delivery): Promise<Secret | undefined>
  readonly post: PostDelivery
}

/** The effect of one attempt to deliver. The number counts the attempts of the delivery from 1. */
const attemptDeliveryEffect = defineEffect({
  kind: 'attempt_delivery',
  lane: 'independent',
  data: {},
  id: ({ delivery_id, number }: { readonly delivery_id: string; readonly number: number }) =>
    `${delivery_id}:attempt:${number}`,
})

/** The time of an attempt beyond its limit: reading the event, and reading the rest of the response body. */
const LEASE_SLACK_MS = 10_000
/** Failures of the receiver are results. Only crashes and internal errors use up the tries of one attempt. */
const TRIES_MAX = 10
/** The largest callback body (N4). */
const BODY_MAX_BYTES = 256 * 1024
const IN_FLIGHT_MAX = 256
/** The wait while the merchants service or the store is unavailable. */
const UNAVAILABLE_WAIT_MS = 10_000

const RETRY_DELAY_MIN_MS = 1_000
const RETRY_DELAY_MAX_MS = 24 * 3_600_000

/** Makes the effect of the attempt with this number, counted from 1. It is due at once unless `due_at` is given. */
export function newAttemptEffect(delivery_id: string, number: number, at: Date, due_at = at): Effect {
  return attemptDeliveryEffect.newEffect({ delivery_id, number }, {}, { at, due_at })
}

/**
 * The handler of the effect: signs the stored body, posts it and records the result. The lease counts the try before
 * the request leaves. After a crash another process repeats the attempt under the same delivery id.
 */
export function bindAttemptDelivery(deps: AttemptDeliveryDeps): BoundEffect<Delivery> {
  let in_flight = 0
  return attemptDeliveryEffect.bind<Delivery>({
    lease_ms: ({ timeout_seconds }) => timeout_seconds * 1_000 + LEASE_SLACK_MS,
    tries_max: TRIES_MAX,
    capacity: () => IN_FLIGHT_MAX - in_flight,
    async run(_effect, delivery) {
      in_flight += 1
      const started_at = now()
      const began_ms = clock.monotonic_ms()
      try {
        const result = await signAndPost(deps, delivery)
        const duration_ms = Math.round(clock.monotonic_ms() - began_ms)
        const record = { number: delivery.attempts.length + 1, started_at, duration_ms, ...result }
        return (current) => recordAttempt(current, record, now())
      } catch (error) {
        if (toPublicError(error).code !== 2002) throw error
        // An outage or a stop of this system must not use up an attempt of the receiver.
        log.warn({ error, delivery_id: delivery.delivery_id }, 'delivery attempt postponed')
        return (current) => postponeAttempt(current, now())
      } finally {
        in_flight -= 1
      }
    },
  })
}

async function signAndPost(deps: AttemptDeliveryDeps, delivery: Delivery): Promise<PostResult> {
  const event = await deps.findEvent(delivery)
  if (!event) return { failure: 'event_expired' }
  if (event.body.byteLength > BODY_MAX_BYTES) return { failure: 'payload_too_large' }
  const secret = await deps.findSecret(delivery)
  if (!secret) return { failure: 'no_secret' }
  const { url, timeout_seconds, environment } = delivery
  const headers = signDelivery(event.body, secret, delivery.delivery_id, now())
  const result = await deps.post(url, headers, event.body, timeout_seconds * 1_000, environment)
  if (result.http_status === undefined || (result.http_status >= 200 && result.http_status <= 299))
    return result
  return { ...result, failure: 'http_status' }
}

function postponeAttempt(delivery: Delivery, at: Date): Delivery {
  const due_at = new Date(at.getTime() + UNAVAILABLE_WAIT_MS)
  const again = newAttemptEffect(delivery.delivery_id, delivery.attempts.length + 1, at, due_at)
  return { ...delivery, effects: [...delivery.effects, again] }
}

/** Adds an attempt to its delivery, which becomes delivered, is scheduled for a retry, or becomes dead (N2, N6). */
export function recordAttempt(delivery: Delivery, record: AttemptRecord, at: Date): Delivery {
  const attempts = [...delivery.attempts, record]
  if (record.failure === undefined) return { ...delivery, attempts, status: 'delivered' }
  if (attempts.length > delivery.max_retries) return { ...delivery, attempts, status: 'dead' }
  const due_at = new Date(at.getTime() + retryDelayMs(attempts.length, delivery.retry_delay_seconds))
  const next = newAttemptEffect(delivery.delivery_id, attempts.length + 1, at, due_at)
  return { ...delivery, attempts, effects: [...delivery.effects, next] }
}

/**
 * The wait before the next attempt, after `attempts` so far (spec: Delivery and retry, 3; N2): uniform between 0 and
 * a bound that doubles with each attempt, but at least one second and at most a day.
 */
export function retryDelayMs(
  attempts: number,
  retry_delay_seconds: number,
  random = randomFraction(),
): number {
  const bound_ms = 2 ** (attempts - 1) * retry_delay_seconds * 1_000
  return Math.min(Math.max(random * bound_ms, RETRY_DELAY_MIN_MS), RETRY_DELAY_MAX_MS)
}
