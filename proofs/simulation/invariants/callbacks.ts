import { createHash, createHmac } from 'node:crypto'
import { openedBody } from '../world/master-keys.ts'
import type { ReceivedCallback } from '../world/receiver.ts'
import { documentsOf, type Evidence, type Invariant, paymentsOf } from './judge.ts'

/** An event as the notifier stores it. */
export interface StoredEvent {
  readonly merchant_id: string
  readonly event_key: string
  readonly event: string
  readonly body: Uint8Array
  readonly destinations: readonly { readonly delivery_id: string; readonly url: string }[]
}

/** A delivery as the notifier stores it. */
export interface StoredDelivery {
  readonly merchant_id: string
  readonly delivery_id: string
  readonly event_key: string
  readonly status: string
  readonly url: string
  readonly max_retries: number
  readonly attempts: readonly { readonly number: number; readonly failure?: string }[]
  /** Since when it waits until the breaker of its destination closes, or until there is a secret. */
  readonly waits_since?: Date
}

/**
 * Each delivery has ended: its receiver acknowledged the stored bytes, or failed all its attempts. What an open breaker
 * cost its tries was delivered or failed again after the breaker had closed.
 */
export const deliveriesHaveEnded: Invariant = function* (evidence) {
  const bodies = new Map(storedEvents(evidence).map((event) => [event.event_key, openedBody(event)]))
  const received = new Map<string, ReceivedCallback[]>()
  for (const callback of evidence.callbacks) {
    const id = callback.headers['x-webhook-id'] ?? ''
    received.set(id, [...(received.get(id) ?? []), callback])
  }
  for (const delivery of storedDeliveries(evidence)) {
    const { delivery_id, event_key, status, waits_since, url } = delivery
    const callbacks = received.get(delivery_id) ?? []
    received.delete(delivery_id)
    const name = `the delivery ${delivery_id} of ${event_key}`
    if (status === 'pending' || waits_since !== undefined)
      yield `${name} is still ${status}${waits_since === undefined ? '' : ' and waits'}`
    if (status === 'delivered' && !callbacks.some(({ answered }) => answered === 200)) {
      yield `${name} is delivered, and no receiver acknowledged it`
    }
    const is_replayed = evidence.history.replayed.has(delivery_id)
    if (is_replayed && status !== 'delivered') yield `${name} is ${status} after its replay`
    for (const problem of attemptProblems(delivery, is_replayed)) yield `${name} ${problem}`
    for (const { body, origin } of callbacks) {
      if (body !== bodies.get(event_key)) yield `${name} arrived with another body than was stored`
      if (!url.startsWith(origin)) yield `${name} arrived at ${origin} instead of ${url}`
    }
  }
  for (const id of received.keys()) yield `a callback arrived with the unknown delivery id ${id}`
}

/** What is wrong with the attempts of a delivery that has ended. */
function* attemptProblems(
  { attempts, status, max_retries }: StoredDelivery,
  is_replayed: boolean,
): Iterable<string> {
  const tries_max = max_retries + 1
  const was_refused = attempts.some(({ failure }) => failure === 'breaker_open')
  if (status === 'dead' && attempts.length < tries_max) yield `is dead after ${attempts.length} attempts`
  if (attempts.length > tries_max && !was_refused && !is_replayed) yield `had ${attempts.length} attempts`
  if (attempts.some(({ number }, index) => index > 0 && number !== (attempts[index - 1]?.number ?? 0) + 1))
    yield `has attempts that are not counted one by one: ${attempts.map(({ number }) => number)}`
  const successes = attempts.filter(({ failure }) => !failure)
  if (
    successes.length > (status === 'delivered' ? 1 : 0) ||
    (successes[0] && successes[0] !== attempts.at(-1))
  )
    yield 'went on after a success'
}

/** Every callback has a valid signature of the merchant's endpoint or of its `webhook_url`. */
export const callbacksAreSigned: Invariant = function* ({ callbacks, merchants }) {
  for (const { body, headers, origin } of callbacks) {
    const merchant = merchants.find(({ merchant_id }) => merchant_id === JSON.parse(body).merchant_id)
    const endpoints = (merchant?.endpoints ?? []).filter((endpoint) => endpoint.origin === origin)
    if (endpoints.some(({ has_unknown_secret }) => has_unknown_secret)) continue
    const secrets = [
      ...endpoints.flatMap((endpoint) => endpoint.secrets),
      ...(merchant?.credentials ?? []).flatMap((credential) => credential.secrets.map(webhookSecret)),
    ]
    const isValid = (secret: string): boolean =>
      headers['x-data-hash'] === createHash('sha512').update(body).update(secret).digest('hex')
    if (!secrets.some(isValid)) yield `the callback ${headers['x-webhook-id']} has no valid signature`
  }
}

/** The fields of a callback about a payment that the invariants read. */
interface PaymentCallback {
  readonly data: {
    readonly result: {
      readonly payment?: {
        readonly identifiers: { readonly h_id: string }
        readonly amount: { readonly value: number }
      }
    }
  }
}

/** Every callback about a payment shows that payment and its amount: a service has published it, and nobody has changed it. */
export const callbacksAreTrue: Invariant = function* (evidence) {
  const amounts = new Map(paymentsOf(evidence).map(({ h_id, amount }) => [h_id, amount]))
  for (const { body, headers } of evidence.callbacks) {
    const { payment } = (JSON.parse(body) as PaymentCallback).data.result
    if (payment === undefined) continue
    const amount = amounts.get(payment.identifiers.h_id)
    if (amount !== BigInt(payment.amount.value))
      yield `the callback ${headers['x-webhook-id']} shows ${payment.amount.value} instead of ${amount}`
  }
}

/** The secret of a payment's `webhook_url`, derived as a merchant derives it (spec: Callback signatures). */
function webhookSecret(api_secret: string): string {
  return createHmac('sha256', api_secret).update('service:merchant-webhook-signing:v1').digest('hex')
}

/** All events. */
export function storedEvents({ databases }: Evidence): readonly StoredEvent[] {
  return documentsOf<StoredEvent>(databases, 'notifier', 'events')
}

/** All deliveries. */
export function storedDeliveries({ databases }: Evidence): readonly StoredDelivery[] {
  return documentsOf<StoredDelivery>(databases, 'notifier', 'deliveries')
}
