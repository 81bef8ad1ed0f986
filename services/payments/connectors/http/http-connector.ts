import { signRequest, verifySignedRequest } from '#lib/platform/crypto/signed-request.ts'
import type { HttpClient } from '#lib/platform/http/client.ts'
import { HttpFailure } from '#lib/platform/http/http-failure.ts'
import { log } from '#lib/platform/telemetry/log.ts'
import type { CallResult, NotSent, Unknown } from '../../domain/call-result.ts'
import type { Connector, LookupResult, OperationKind, ProviderOrder } from '../connector.ts'
import type { ProviderAccount } from '../provider-accounts.ts'
import {
  isIdempotencyKey,
  OPERATIONS_PATH,
  orderBody,
  type ProviderResponse,
  parseReport,
  parseResponse,
  toCode,
} from './protocol.ts'

/** The protocol's code for an operation that does not exist. */
const NOT_FOUND_CODE = 6010
/** The protocol's code for a key that was used for a different operation. It proves nothing about that operation. */
const KEY_REUSED_CODE = 1013

/** The largest accepted body of a response or a callback. */
const BODY_MAX_BYTES = 64 * 1024

const connector_log = log.child('payments')

interface ProviderCall {
  readonly method: 'GET' | 'POST'
  readonly path: string
  readonly body: string
  readonly timeout_ms: number
  readonly signal: AbortSignal | undefined
}

/** A valid response with its HTTP status, or why there is none. */
type ExchangeResult =
  | { readonly kind: 'response'; readonly http_status: number; readonly response: ProviderResponse }
  | NotSent
  | Unknown

/**
 * Makes the connector for all providers that use the protocol of docs/provider-protocol.md. The protocol requires that a
 * key names one operation permanently, so the idempotency window of all of them has no end.
 */
export function createHttpConnector(http: HttpClient): Connector {
  return {
    idempotency_window_ms: Number.POSITIVE_INFINITY,
    async create(account, order, timeout_ms, signal) {
      requireKey(order.idempotency_key)
      const body = orderBody(order)
      const request = { method: 'POST', path: OPERATIONS_PATH, body, timeout_ms, signal } as const
      const result = await exchange(http, account, request)
      if (result.kind === 'response') return createResult(order, result.http_status, result.response)
      // This request was not sent, but an earlier one under the same key may have arrived.
      return order.earlier_result_unknown ? unknown(result.reason) : result
    },
    async lookUp(account, idempotency_key, kind, timeout_ms, signal) {
      requireKey(idempotency_key)
      const path = `${OPERATIONS_PATH}/${idempotency_key}`
      const result = await exchange(http, account, { method: 'GET', path, body: '', timeout_ms, signal })
      if (result.kind !== 'response') return unknown(result.reason)
      return lookupResult({ idempotency_key, kind }, result.http_status, result.response)
    },
    verifyCallback(account, { method, path, headers, body }) {
      if (body.length > BODY_MAX_BYTES) return undefined
      const request = { account_id: account.account_id, method, path, body }
      return verifySignedRequest(account.key, request, headers) ? parseReport(body) : undefined
    },
  }
}

async function exchange(
  http: HttpClient,
  account: ProviderAccount,
  { method, path, body, timeout_ms, signal }: ProviderCall,
): Promise<ExchangeResult> {
  const url = new URL(account.base_url + path)
  const request = { account_id: account.account_id, method, path: url.pathname, body: Buffer.from(body) }
  try {
    const { status: http_status, body: response_body } = await http.request({
      method,
      url: url.href,
      headers: { 'content-type': 'application/json', ...signRequest(account.key, request) },
      ...(method === 'POST' ? { body: request.body } : {}),
      timeout_ms,
      response_max_bytes: BODY_MAX_BYTES,
      ...(signal === undefined ? {} : { signal }),
    })
    const response = parseResponse(response_body)
    if (response === undefined) return unknown(`HTTP ${http_status} with an invalid body`)
    return { kind: 'response', http_status, response }
  } catch (error) {
    if (error instanceof HttpFailure) return { kind: error.kind, reason: error.reason }
    // After an internal error it is not known whether the request was sent.
    connector_log.error(
      { error, provider_account: account.account_id },
      'request to the provider failed with an internal error',
    )
    return unknown('internal error')
  }
}

/** What a response to a create proves (P4). */
function createResult(order: ProviderOrder, http_status: number, response: ProviderResponse): CallResult {
  if (response.kind === 'report') return reportedStatus(order, http_status, response)
  if (response.provider_code === KEY_REUSED_CODE) return unknown('the key was used for another operation')
  if (order.earlier_result_unknown) return unknown('refused after an earlier request with an unknown result')
  return { kind: 'declined', ...toCode(response.provider_code, 7001) }
}

/** What a response to a lookup proves. A refused lookup proves nothing about the operation. */
function lookupResult(
  requested: { readonly idempotency_key: string; readonly kind: OperationKind },
  http_status: number,
  response: ProviderResponse,
): LookupResult {
  if (response.kind === 'report') return reportedStatus(requested, http_status, response)
  return response.provider_code === NOT_FOUND_CODE ? { kind: 'not_found' } : unknown('the lookup was refused')
}

/** The status of a report. It counts only with HTTP 2xx and for the requested operation. */
function reportedStatus(
  requested: { readonly idempotency_key: string; readonly kind: OperationKind },
  http_status: number,
  { report }: Extract<ProviderResponse, { kind: 'report' }>,
): Exclude<LookupResult, { kind: 'not_found' }> {
  if (http_status < 200 || http_status > 299) return unknown(`HTTP ${http_status} with a report`)
  const is_same = report.idempotency_key === requested.idempotency_key && report.kind === requested.kind
  return is_same ? report.result : unknown('a report about another operation')
}

function unknown(reason: string): Unknown {
  return { kind: 'unknown', reason }
}

function requireKey(idempotency_key: string): void {
  if (!isIdempotencyKey(idempotency_key))
    throw new TypeError('invalid idempotency key for the provider protocol')
}
