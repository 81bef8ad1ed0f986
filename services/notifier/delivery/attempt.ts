import type { Environment } from '#lib/contract/environment.ts'
import { type Effect, effect } from '#lib/patterns/effects/effect.ts'
import type { EffectHandler } from '#lib/patterns/effects/runner.ts'
import type { Secret } from '#lib/platform/crypto/secret.ts'
import { publicErrorOf } from '#lib/platform/rpc/translate-errors.ts'
import { log } from '#lib/platform/telemetry/log.ts'
import { clock, now } from '#lib/platform/time.ts'
import type { AttemptRecord, Delivery, StoredEvent } from '../domain/delivery.ts'
import { retryDelay } from './retry.ts'
import { signDelivery } from './sign.ts'

/** What came of posting a body: the status of the answer, or why there was none. */
export interface Posted {
  readonly http_status?: number
  readonly failure?: string
}

/** What an attempt needs. */
export interface AttemptParts {
  eventOf(delivery: Delivery): Promise<StoredEvent | undefined>
  /** The secret that signs for the destination now; `undefined` when none was issued or the endpoint is gone. */
  secretOf(delivery: Delivery): Promise<Secret | undefined>
  post(
    url: string,
    headers: Readonly<Record<string, string>>,
    body: Uint8Array,
    timeout_ms: number,
    environment: Environment,
  ): Promise<Posted>
}

/** What an attempt may take beside its time limit: reading the event, and what is left of the answer's body. */
const LEASE_SLACK_MS = 10_000
const CRASHES_MAX = 10
const BODY_MAX_BYTES = 256 * 1024
const IN_FLIGHT_MAX = 256
/** The pause while what an attempt needs of our own is away. */
const AWAY_WAIT_MS = 10_000

/**
 * The effect that tries to deliver. The try is counted by the claim, before the request goes out; a process that
 * dies in between leaves an attempt that another repeats under the same delivery id.
 */
export function attemptKind(parts: AttemptParts): EffectHandler<Delivery> {
  let in_flight = 0
  return {
    lease_ms: ({ timeout_seconds }) => timeout_seconds * 1_000 + LEASE_SLACK_MS,
    tries_max: CRASHES_MAX,
    capacity: () => IN_FLIGHT_MAX - in_flight,
    async run(attempt: Effect, delivery: Delivery) {
      in_flight += 1
      const started_at = now()
      const began_ms = clock.monotonic_ms()
      try {
        const posted = await post(parts, delivery)
        const duration_ms = Math.round(clock.monotonic_ms() - began_ms)
        const record = { number: delivery.attempts.length + 1, started_at, duration_ms, ...posted }
        return (current) => afterAttempt(current, record, now())
      } catch (error) {
        if (publicErrorOf(error).code !== 2002) throw error
        // No outage and no stop of ours, however long, uses up any of the receiver's attempts.
        log.warn({ error, delivery_id: delivery.delivery_id }, 'an attempt was put off')
        return (current) => postponed(current, attempt, now())
      } finally {
        in_flight -= 1
      }
    },
  }
}

async function post(parts: AttemptParts, delivery: Delivery): Promise<Posted> {
  const event = await parts.eventOf(delivery)
  if (!event) return { failure: 'event_expired' }
  if (event.body.byteLength > BODY_MAX_BYTES) return { failure: 'payload_too_large' }
  const secret = await parts.secretOf(delivery)
  if (!secret) return { failure: 'no_secret' }
  const { url, timeout_seconds, environment } = delivery
  const headers = signDelivery(event.body, secret, delivery.delivery_id, now())
  const posted = await parts.post(url, headers, event.body, timeout_seconds * 1_000, environment)
  if (posted.http_status === undefined || (posted.http_status >= 200 && posted.http_status <= 299))
    return posted
  return { ...posted, failure: 'http_status' }
}

function postponed(delivery: Delivery, { id, kind, lane }: Effect, at: Date): Delivery {
  const again = effect({ id, kind, lane, due_at: new Date(at.getTime() + AWAY_WAIT_MS) }, at)
  return { ...delivery, effects: [...delivery.effects, again] }
}

/** What an attempt changes: delivered, tried again later, or dead (N2, N6). Pure. */
export function afterAttempt(delivery: Delivery, record: AttemptRecord, at: Date): Delivery {
  const attempts = [...delivery.attempts, record]
  if (record.failure === undefined) return { ...delivery, attempts, state: 'delivered' }
  if (attempts.length > delivery.max_retries) return { ...delivery, attempts, state: 'dead' }
  const due_at = new Date(at.getTime() + retryDelay(attempts.length, delivery.retry_delay_seconds))
  const id = `${delivery.delivery_id}:attempt:${attempts.length + 1}`
  const next = effect({ id, kind: 'attempt', lane: 'timer', due_at }, at)
  return { ...delivery, attempts, effects: [...delivery.effects, next] }
}
