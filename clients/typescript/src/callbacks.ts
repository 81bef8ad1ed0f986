import { CallbackError } from './errors.ts'
import type { Callback } from './gen/types.ts'
import { parseJson } from './json.ts'
import { verifyV3 } from './signatures.ts'

/** The headers of a request, by lower-case name, as Node.js has them, or as the class of fetch. */
export type CallbackHeaders = Headers | Readonly<Record<string, string | readonly string[] | undefined>>

/** What verifying a callback needs. */
export interface CallbackSettings {
  /** The secrets of the endpoint or of the `webhook_url`; two while one is rotated. See `webhookSecret`. */
  secrets: readonly string[]
  /** The present time in milliseconds. */
  now_ms?: (() => number) | undefined
}

/** The largest callback. */
export const CALLBACK_MAX_BYTES = 256 * 1024
const MAX_AGE_MS = 300_000
const TIMESTAMP = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,9})?Z$/

/** Throws `TypeError` unless there are secrets. */
export function checkSecrets(secrets: readonly string[]): void {
  if (secrets.length === 0 || secrets.includes(''))
    throw new TypeError('a secret of the callbacks is missing')
}

/** What a receiver stores to handle a callback once. Refunds of one payment have the same `id`, but different keys. */
export function callbackKey({ id, data }: Callback): string {
  const { payment } = data.result
  if (payment === undefined) return id
  const operations = payment.operations.map((one) => `${one.id}=${one.status.status}`)
  return [id, payment.status.status, ...operations].join('|')
}

/**
 * Verifies a callback over the exact bytes that arrived, and returns what it says. Nothing is parsed before its signature is
 * verified, in constant time. Throws `CallbackError`.
 */
export function verifyCallback(
  headers: CallbackHeaders,
  body: Uint8Array,
  { secrets, now_ms = Date.now }: CallbackSettings,
): Callback {
  checkSecrets(secrets)
  if (body.length > CALLBACK_MAX_BYTES)
    throw new CallbackError('too_large', 'the body is larger than any callback')
  const read = (name: string): string => {
    const value = headers instanceof Headers ? headers.get(name) : headers[name]
    if (typeof value !== 'string' || value === '')
      throw new CallbackError('missing_header', `${name} is missing`)
    return value
  }
  const timestamp = read('x-webhook-timestamp')
  const input = { timestamp, nonce: read('x-webhook-nonce'), webhook_id: read('x-webhook-id'), body }
  const signature = read('x-webhook-signature-v3')
  if (!secrets.some((secret) => verifyV3(secret, input, signature)))
    throw new CallbackError('signature', 'the signature is wrong')
  const age_ms = TIMESTAMP.test(timestamp) ? Math.abs(now_ms() - Date.parse(timestamp)) : Number.NaN
  if (!(age_ms <= MAX_AGE_MS))
    throw new CallbackError('timestamp', 'the callback is not of the last five minutes')
  try {
    return parseJson(new TextDecoder('utf-8', { fatal: true }).decode(body)) as Callback
  } catch {
    throw new CallbackError('malformed', 'the body is not JSON')
  }
}
