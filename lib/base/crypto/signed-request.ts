import { isAccountId } from '#lib/contract/provider-account-id.ts'
import { clock } from '../time.ts'
import { constantTimeEqual, hmacHex } from './hash.ts'
import type { Secret } from './secret.ts'

/** The signed content of a request. `path` is the exact request target, with its query. */
export interface SignedRequest {
  readonly account_id: string
  readonly method: string
  readonly path: string
  readonly body: Uint8Array
}

/** Headers as Node gives them: names in lower case. */
export type ReceivedHeaders = Readonly<Record<string, string | readonly string[] | undefined>>

/** How far a timestamp may be from the receiver's clock, in either direction. */
const FRESHNESS_S = 300

const TIMESTAMP = /^[0-9]{1,12}$/
const SIGNATURE = /^[0-9a-f]{64}$/

/**
 * The headers that authenticate a request of the provider protocol (docs/provider-protocol.md): one to the provider,
 * or a callback from it. They are valid for five minutes, so every attempt needs new ones.
 */
export function signRequest(key: Secret, request: SignedRequest): Record<string, string> {
  const timestamp = String(Math.floor(clock.now_ms() / 1000))
  return {
    'x-provider-account': request.account_id,
    'x-provider-timestamp': timestamp,
    'x-provider-signature': signature(key, request, timestamp),
  }
}

/** The account that a request claims to belong to, if well-formed. It is not proved: see `verifySignedRequest`. */
export function claimedAccount(headers: ReceivedHeaders): string | undefined {
  const account_id = headers['x-provider-account']
  return typeof account_id === 'string' && isAccountId(account_id) ? account_id : undefined
}

/**
 * Whether the headers prove that a holder of `key` made exactly this request, at a time that is at most five minutes
 * from the present, in either direction.
 */
export function verifySignedRequest(key: Secret, request: SignedRequest, headers: ReceivedHeaders): boolean {
  const timestamp = headers['x-provider-timestamp']
  const given = headers['x-provider-signature']
  if (claimedAccount(headers) !== request.account_id) return false
  if (typeof timestamp !== 'string' || !TIMESTAMP.test(timestamp)) return false
  if (typeof given !== 'string' || !SIGNATURE.test(given)) return false
  if (!constantTimeEqual(given, signature(key, request, timestamp))) return false
  return Math.abs(clock.now_ms() / 1000 - Number(timestamp)) <= FRESHNESS_S
}

/**
 * The first line of the signed text names the protocol, so that no signature for another use of the key is valid
 * here.
 */
function signature(
  key: Secret,
  { account_id, method, path, body }: SignedRequest,
  timestamp: string,
): string {
  const head = ['multihub-provider-v1', account_id, method, path, timestamp, ''].join('\n')
  return hmacHex('sha256', key, Buffer.concat([Buffer.from(head), body]))
}
