import type { PersonSealer } from '#lib/base/crypto/person-seal.ts'
import { now } from '#lib/base/time.ts'
import { Unavailable } from '#lib/contract/errors/unavailable.ts'
import { toPublicError } from '#lib/rpc/errors.ts'
import { log } from '#lib/telemetry/log.ts'
import { inSpan, type SpanDescription } from '#lib/telemetry/span.ts'
import type { AttemptResult } from '../domain/attempt.ts'
import { type Delivery, placeOfResponse } from '../domain/delivery.ts'
import { type DeliveryAddress, hostOf } from '../domain/destination.ts'
import type { FindTarget } from './find-target.ts'
import type { PostDelivery } from './post-delivery.ts'
import { signDelivery } from './sign-delivery.ts'

/** What an attempt reads and calls. */
export interface MakeAttemptDeps {
  /** The stored body of the delivery's event; `undefined` when the event has expired. */
  findBody(delivery: Delivery): Promise<Uint8Array | undefined>
  readonly findTarget: FindTarget
  readonly post: PostDelivery
  /** Seals what the receiver answers. */
  readonly person: Pick<PersonSealer, 'seal'>
  /** Aborts when the process stops. */
  readonly stopping: AbortSignal
}

/**
 * What an attempt came to: a try with its result and the address that it used, or no try, because the endpoint has no
 * secret (`blocked`), or because of a failure of this system or a new host (`postponed`) (N7).
 */
export type AttemptOutcome =
  | { readonly kind: 'ended'; readonly result: AttemptResult; readonly address?: DeliveryAddress }
  | { readonly kind: 'blocked' }
  | { readonly kind: 'postponed'; readonly wait_ms: number; readonly address?: DeliveryAddress }

/** How one attempt is made. */
export interface AttemptOptions {
  /** The body, when the caller has it: it saves the read of the event. */
  readonly body?: Uint8Array | undefined
  /** Whether this process may still send. Asked right before the request, because a connection can be waited for. */
  hasLease(): boolean
}

/** Makes one attempt. It never rejects; without the lease it is postponed, and nothing is sent. */
export type MakeAttempt = (delivery: Delivery, options: AttemptOptions) => Promise<AttemptOutcome>

/** The largest callback body (N4). */
const BODY_MAX_BYTES = 256 * 1024

/** The wait while the merchants service, the store or a connection is unavailable, and after an internal fault. */
const UNAVAILABLE_WAIT_MS = 10_000
const FAULT_WAIT_MS = 60_000

/** Makes the function that signs the stored body and posts it. The caller has counted the attempt before. */
export function createMakeAttempt(deps: MakeAttemptDeps): MakeAttempt {
  return (delivery, options) =>
    inSpan(spanOf(delivery), async (span) => {
      try {
        const outcome = await signAndPost(deps, delivery, options)
        if (outcome.kind === 'ended') {
          const { http_status, failure } = outcome.result
          span?.add({ http_status, outcome: failure ?? 'delivered' })
        }
        return outcome
      } catch (error) {
        span?.fail(error)
        return postpone(deps, delivery, error)
      }
    })
}

/** The span of an attempt, in the trace of its event, whichever process makes it. */
function spanOf({ delivery_id, event, attempt, traceparent }: Delivery): SpanDescription {
  const fields = { delivery_id, event, attempt: attempt?.number }
  return { name: 'deliver', kind: 'client', fields, stored: traceparent }
}

/** The outcome of an attempt that was not made because of a failure of this system. */
function postpone({ stopping }: MakeAttemptDeps, { delivery_id }: Delivery, error: unknown): AttemptOutcome {
  if (stopping.aborted) return { kind: 'postponed', wait_ms: 0 }
  if (toPublicError(error).code === 2002) {
    log.warn({ error, delivery_id }, 'delivery attempt postponed')
    return { kind: 'postponed', wait_ms: UNAVAILABLE_WAIT_MS }
  }
  log.error({ error, delivery_id }, 'delivery attempt failed internally; it is postponed')
  return { kind: 'postponed', wait_ms: FAULT_WAIT_MS }
}

async function signAndPost(
  { findBody, findTarget, post, person }: MakeAttemptDeps,
  delivery: Delivery,
  options: AttemptOptions,
): Promise<AttemptOutcome> {
  const body = options.body ?? (await findBody(delivery))
  if (!body) return notSent('event_expired')
  if (body.byteLength > BODY_MAX_BYTES) return notSent('payload_too_large')
  const target = await findTarget(delivery)
  if (!target) return { kind: 'blocked' }
  const { address, secret } = target
  // The attempt has a slot of its former host. It is queued again, due now, and then gets one of the new host.
  if (address.url !== delivery.url && hostOf(address.url) !== hostOf(delivery.url))
    return { kind: 'postponed', wait_ms: 0, address }
  const { environment, merchant_id, delivery_id } = delivery
  const { response_start, ...result } = await post({
    url: address.url,
    environment,
    body,
    timeout_ms: address.timeout_seconds * 1_000,
    sign(started_at) {
      if (!options.hasLease()) throw new Unavailable('the lease of the destination ended before the request')
      return signDelivery(body, secret, delivery_id, started_at)
    },
  })
  const { http_status } = result
  const is_refused = http_status !== undefined && !(http_status >= 200 && http_status <= 299)
  return {
    kind: 'ended',
    address,
    result: {
      ...result,
      response_start: response_start?.length
        ? person.seal(response_start, merchant_id, placeOfResponse(delivery))
        : undefined,
      failure: is_refused ? 'http_status' : result.failure,
    },
  }
}

function notSent(failure: 'event_expired' | 'payload_too_large'): AttemptOutcome {
  return { kind: 'ended', result: { started_at: now(), duration_ms: 0, failure } }
}
