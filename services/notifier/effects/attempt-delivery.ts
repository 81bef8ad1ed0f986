import { createKeyedBudget } from '#lib/patterns/effects/budget.ts'
import type { BoundEffect } from '#lib/patterns/effects/define-effect.ts'
import { randomFraction } from '#lib/platform/crypto/random.ts'
import type { Secret } from '#lib/platform/crypto/secret.ts'
import { toPublicError } from '#lib/platform/rpc/errors/translate-errors.ts'
import { log } from '#lib/platform/telemetry/log.ts'
import { now } from '#lib/platform/time.ts'
import type { PostDelivery, PostResult } from '../delivery/post-delivery.ts'
import { signDelivery } from '../delivery/sign-delivery.ts'
import { attemptDeliveryEffect, postponeAttempt, recordAttempt } from '../domain/attempt.ts'
import type { Delivery } from '../domain/delivery.ts'
import type { StoredEvent } from '../domain/event.ts'

/** What an attempt reads and calls. */
export interface AttemptDeliveryDeps {
  findEvent(delivery: Delivery): Promise<StoredEvent | undefined>
  /** The secret that signs for the destination now; `undefined` when none was issued or the endpoint is deleted. */
  findSecret(delivery: Delivery): Promise<Secret | undefined>
  readonly post: PostDelivery
}

/** Added to the time limit of a request for the lease: reading the event, and reading the rest of the response body. */
const LEASE_SLACK_MS = 10_000
/** Failures of the receiver are results. Only crashes and internal errors use up the tries of one attempt. */
const TRIES_MAX = 10
/** The largest callback body (N4). */
const BODY_MAX_BYTES = 256 * 1024
/** The attempts of one merchant that wait for a receiver that hangs. As many as it gets connections to one host. */
const IN_PROGRESS_PER_MERCHANT_MAX = 64
/** Bounds the connections and bodies of all merchants. */
const IN_PROGRESS_MAX = 2_048

/**
 * The handler of the effect: signs the stored body, posts it and records the result. The try is counted when the effect
 * is leased, before the request leaves. After a crash another process repeats the attempt under the same delivery id.
 */
export function bindAttemptDelivery(deps: AttemptDeliveryDeps): BoundEffect<Delivery> {
  return attemptDeliveryEffect.bind<Delivery>({
    lease_ms: ({ timeout_seconds }) => timeout_seconds * 1_000 + LEASE_SLACK_MS,
    tries_max: TRIES_MAX,
    budget: createKeyedBudget(
      IN_PROGRESS_PER_MERCHANT_MAX,
      ({ merchant_id }) => merchant_id,
      IN_PROGRESS_MAX,
    ),
    async run(_effect, delivery) {
      try {
        const result = await signAndPost(deps, delivery)
        // Drawn once, so that a repeated write has the same retry time.
        const random = randomFraction()
        const record = { number: delivery.attempts.length + 1, ...result }
        return (current) => recordAttempt(current, record, now(), random)
      } catch (error) {
        if (toPublicError(error).code !== 2002) throw error
        // An outage or a stop of this system must not use up an attempt of the receiver.
        log.warn({ error, delivery_id: delivery.delivery_id }, 'delivery attempt postponed')
        return (current) => postponeAttempt(current, now())
      }
    },
  })
}

async function signAndPost(
  deps: AttemptDeliveryDeps,
  delivery: Delivery,
): Promise<Omit<PostResult, 'response_start'>> {
  const nothing_sent = { started_at: now(), duration_ms: 0 }
  const event = await deps.findEvent(delivery)
  if (!event) return { ...nothing_sent, failure: 'event_expired' }
  const { body } = event
  if (body.byteLength > BODY_MAX_BYTES) return { ...nothing_sent, failure: 'payload_too_large' }
  const secret = await deps.findSecret(delivery)
  if (!secret) return { ...nothing_sent, failure: 'no_secret' }
  const { url, timeout_seconds, environment } = delivery
  const sign = (at: Date) => signDelivery(body, secret, delivery.delivery_id, at)
  const { response_start: _, ...result } = await deps.post({
    url,
    environment,
    body,
    timeout_ms: timeout_seconds * 1_000,
    sign,
  })
  if (result.http_status === undefined || (result.http_status >= 200 && result.http_status <= 299))
    return result
  return { ...result, failure: 'http_status' }
}
