import type { Secret } from '#lib/base/crypto/secret.ts'
import type { Environment } from '#lib/contract/environment.ts'
import type { HttpClient } from '#lib/http/client.ts'
import { type FailureReason, HttpFailure, OWN_FAILURES } from '#lib/http/http-failure.ts'
import { log } from '#lib/telemetry/log.ts'
import type { NotSent, Unknown } from '../domain/call-result.ts'
import type { AccountOf, ProviderSecret } from './provider-account.ts'

/** The most bytes of a response per operation that it reports: far more than the largest payment instructions take. */
const OPERATION_MAX_BYTES = 64 * 1024

/** The parts of a request that a signature can cover. `path` is the request target as it is sent. */
export interface SignedContent {
  readonly method: 'GET' | 'POST'
  readonly path: string
  readonly body: Uint8Array
}

/** A request to the provider. Its credential must be of the environment of the account. */
export interface ProviderRequest<E extends Environment> {
  readonly method: 'GET' | 'POST'
  /** The path below the base URL of the account, with its query. It begins with a slash and is already escaped. */
  readonly path: string
  readonly content_type: string
  /** Absent for GET. */
  readonly body?: string
  readonly credential: ProviderSecret<E>
  /** The headers that authenticate the request. */
  readonly authenticate: (credential: Secret, parts: SignedContent) => Readonly<Record<string, string>>
  readonly timeout_ms: number
  readonly signal: AbortSignal | undefined
  /** How many operations the response can report; 1 unless given. It bounds the size of the response. */
  readonly operations?: number
}

/** The bytes that a provider responded with. The connector decides whether they follow its protocol. */
export interface ProviderResponse {
  readonly kind: 'response'
  readonly http_status: number
  readonly body: Uint8Array
}

/**
 * Sends requests to the base URL of one account, and nowhere else: redirects are not followed. It tells `not_sent` from
 * `unknown` by what happened on the wire (P4), for all connectors. A failure is a result, never an exception.
 */
export interface ProviderHttp<E extends Environment> {
  /** Throws `TypeError`, before anything is sent, for a path that leads out of the base URL. */
  readonly request: (request: ProviderRequest<E>) => Promise<ProviderResponse | NotSent | Unknown>
}

/** The failures that say nothing about the provider: also a request that no client could send. */
const NOT_OF_PROVIDER: ReadonlySet<FailureReason> = new Set([...OWN_FAILURES, 'bad_request'])

const http_log = log.child('payments')

/** Makes the sender of an account. */
export function createProviderHttp<E extends Environment>(
  http: HttpClient,
  { account_id, base_url }: Pick<AccountOf<E>, 'account_id' | 'base_url'>,
): ProviderHttp<E> {
  return {
    async request({ method, path, content_type, body, credential, authenticate, ...limits }) {
      const { timeout_ms, signal, operations = 1 } = limits
      const url = base_url + path
      const { origin, pathname, search } = new URL(url)
      if (!path.startsWith('/') || origin + pathname + search !== url)
        throw new TypeError('the path of a provider request leads out of the base URL')
      const bytes = Buffer.from(body ?? '')
      const parts: SignedContent = { method, path: pathname + search, body: bytes }
      try {
        const response = await http.request({
          method,
          url,
          createHeaders: () => ({ 'content-type': content_type, ...authenticate(credential, parts) }),
          ...(body === undefined ? {} : { body: bytes }),
          timeout_ms,
          response_max_bytes: operations * OPERATION_MAX_BYTES,
          ...(signal === undefined ? {} : { signal }),
        })
        return { kind: 'response', http_status: response.status, body: response.body }
      } catch (error) {
        if (error instanceof HttpFailure) {
          const { kind, reason } = error
          return NOT_OF_PROVIDER.has(reason) ? { kind, reason } : { kind, reason, is_provider_failure: true }
        }
        // After an internal error it is not known whether the request was sent.
        http_log.error(
          { error, provider_account: account_id },
          'request to the provider failed with an internal error',
        )
        return { kind: 'unknown', reason: 'internal error' }
      }
    },
  }
}

/** The result of a response that does not follow the protocol of the provider: the operation may exist (P4). */
export function protocolViolation(reason: string): Unknown {
  return { kind: 'unknown', reason, is_provider_failure: true }
}

/** The result of an order that the protocol of the provider cannot express. It says nothing about the provider. */
export const INEXPRESSIBLE_ORDER: NotSent = {
  kind: 'not_sent',
  reason: 'the protocol cannot express the order',
}
