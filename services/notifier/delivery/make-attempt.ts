import { LRUCache } from 'lru-cache'
import type { Keyring } from '#lib/base/crypto/keyring.ts'
import type { Secret } from '#lib/base/crypto/secret.ts'
import { now } from '#lib/base/time.ts'
import { Unavailable } from '#lib/contract/errors/unavailable.ts'
import { ownerOfEndpointSecret } from '#lib/contract/secret-owners.ts'
import type { RegistryCache } from '#lib/patterns/registry-cache/registry-cache.ts'
import { toPublicError } from '#lib/rpc/errors.ts'
import { log } from '#lib/telemetry/log.ts'
import { inSpan, type SpanDescription } from '#lib/telemetry/span.ts'
import type { AttemptResult } from '../domain/attempt.ts'
import type { Delivery } from '../domain/delivery.ts'
import { addressOfEndpoint, type DeliveryAddress, hostOf } from '../domain/destination.ts'
import type { PostDelivery } from './post-delivery.ts'
import { signDelivery } from './sign-delivery.ts'

/** Where an attempt goes, and the secret that signs it. */
interface AttemptTarget {
  readonly address: DeliveryAddress
  readonly secret: Secret
}

/** What an attempt reads and calls. */
export interface MakeAttemptDeps {
  /** The stored body of the delivery's event; `undefined` when the event has expired. */
  findBody(delivery: Delivery): Promise<Uint8Array | undefined>
  /** The destination as it is now; `undefined` when it has no secret yet or the endpoint is deleted. */
  findTarget(delivery: Delivery): Promise<AttemptTarget | undefined>
  readonly post: PostDelivery
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
  { findBody, findTarget, post }: MakeAttemptDeps,
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
  const { environment, delivery_id } = delivery
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
  const is_success = http_status !== undefined && http_status >= 200 && http_status <= 299
  return {
    kind: 'ended',
    address,
    result: {
      ...result,
      ...(response_start?.length ? { response_start } : {}),
      ...(http_status === undefined || is_success ? {} : { failure: 'http_status' }),
    },
  }
}

function notSent(failure: 'event_expired' | 'payload_too_large'): AttemptOutcome {
  return { kind: 'ended', result: { started_at: now(), duration_ms: 0, failure } }
}

/** The most secrets of endpoints that are kept decrypted. */
const UNSEALED_MAX = 1_000

/**
 * Finds where an attempt goes and what signs it: what is stored with the delivery for a payment's own `webhook_url`, else
 * the endpoint as it is now. So retries and probes reach a receiver that has moved, signed with a rotated secret (N6).
 * Secrets of endpoints are decrypted once, because that costs as much as a signature.
 */
export function createFindTarget(
  registry_cache: Pick<RegistryCache, 'merchantEndpoints'>,
  keyring: Pick<Keyring, 'unseal'>,
): MakeAttemptDeps['findTarget'] {
  const unsealed = new LRUCache<string, Secret>({ max: UNSEALED_MAX })

  function unsealOnce(sealed: string, owner: string): Secret {
    // With the owner: a secret that is sealed for another one must not be found.
    const key = `${owner} ${sealed}`
    const known = unsealed.get(key)
    if (known !== undefined) return known
    const secret = keyring.unseal(sealed, owner)
    unsealed.set(key, secret)
    return secret
  }

  return async (delivery: Delivery): Promise<AttemptTarget | undefined> => {
    const { endpoint_id } = delivery
    if (delivery.secret) {
      const { url, timeout_seconds, max_retries, retry_delay_seconds } = delivery
      const secret = keyring.unseal(delivery.secret.sealed, delivery.secret.owner)
      return { secret, address: { url, timeout_seconds, max_retries, retry_delay_seconds } }
    }
    if (endpoint_id === undefined) return undefined
    const endpoints = await registry_cache.merchantEndpoints(delivery.merchant_id, delivery.environment)
    const { endpoint, secret } = endpoints.find((each) => each.endpoint?.endpointId === endpoint_id) ?? {}
    if (endpoint === undefined || secret === undefined) return undefined
    return {
      secret: unsealOnce(secret.sealed, ownerOfEndpointSecret(endpoint_id)),
      address: addressOfEndpoint(endpoint),
    }
  }
}
