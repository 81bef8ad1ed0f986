import { z } from 'zod'
import type { Secret } from '#lib/base/crypto/secret.ts'
import { signRequest, verifySignedRequest } from '#lib/base/crypto/signed-request.ts'
import type { Environment } from '#lib/contract/environment.ts'
import { ALL_METHODS } from '#lib/contract/payment-methods.ts'
import type { CallResult, LookupResult, Unknown } from '../../domain/call-result.ts'
import {
  type ConnectorDefinition,
  defineConnector,
  type OperationName,
  type ProviderCalls,
  type ProviderOrder,
} from '../connector.ts'
import type { AccountOf } from '../provider-account.ts'
import {
  INEXPRESSIBLE_ORDER,
  type ProviderHttp,
  protocolViolation,
  type SignedContent,
} from '../provider-http.ts'
import { resultOfReport } from '../provider-report.ts'
import {
  isIdempotencyKey,
  OPERATIONS_PATH,
  orderBody,
  type ProtocolResponse,
  parseReport,
  parseResponse,
  toCode,
} from './protocol.ts'

/** The protocol's code for an operation that does not exist. */
const NOT_FOUND_CODE = 6010
/** The protocol's code for a key that was used for a different operation. It proves nothing about that operation. */
const KEY_REUSED_CODE = 1013

/**
 * The connector for all providers that use the protocol of docs/provider-protocol.md. The protocol requires that a key
 * names one operation permanently, so the idempotency window of all of them has no end.
 */
export const httpConnector = defineConnector({
  capabilities: {
    operations: ['deposit', 'withdrawal', 'refund'],
    methods: ALL_METHODS,
    lookups_max: 1,
    sends_callbacks: true,
    idempotency_window_ms: Number.POSITIVE_INFINITY,
  },
  poll_schedule: { first_ms: 60_000, max_ms: 300_000 },
  environments: ['test', 'production'],
  credentials: { key: { length_min: 32 } },
  settings: z.strictObject({}),
  account_identity: [],
  connect: connectHttp,
})

/** The sandbox speaks the same protocol, but is never a real provider. Its results come within seconds. */
export const sandboxConnector: ConnectorDefinition<'key'> = {
  ...httpConnector,
  poll_schedule: { first_ms: 2_000, max_ms: 2_000 },
  environments: ['test'],
}

function connectHttp<E extends Environment>(
  account: AccountOf<E, 'key'>,
  http: ProviderHttp<E>,
): ProviderCalls {
  const { account_id, credentials } = account
  // Returns a valid response with its HTTP status, or why there is none.
  const exchange = async (
    request: { readonly method: 'GET' | 'POST'; readonly path: string; readonly body?: string },
    timeout_ms: number,
    signal: AbortSignal | undefined,
  ) => {
    const result = await http.request({
      ...request,
      content_type: 'application/json',
      credential: credentials.key,
      authenticate: (key: Secret, parts: SignedContent) => signRequest(key, { account_id, ...parts }),
      timeout_ms,
      signal,
    })
    if (result.kind !== 'response') return result
    const { http_status } = result
    const response = parseResponse(result.body)
    if (response === undefined)
      return { ...protocolViolation(`HTTP ${http_status} with an invalid body`), http_status }
    return { kind: 'response' as const, http_status, response }
  }
  return {
    async create(order, timeout_ms, signal) {
      const body = orderBody(order)
      const result =
        body === undefined
          ? INEXPRESSIBLE_ORDER
          : await exchange({ method: 'POST', path: OPERATIONS_PATH, body }, timeout_ms, signal)
      if (result.kind === 'response') {
        const { http_status } = result
        return { ...createResult(order, http_status, result.response), http_status }
      }
      // This request was not sent, but an earlier one under the same key may have arrived.
      return order.earlier_result_unknown ? { ...result, kind: 'unknown' } : result
    },
    lookUp: (operations, timeout_ms, signal) =>
      Promise.all(
        operations.map(async (operation): Promise<LookupResult> => {
          if (!isIdempotencyKey(operation.idempotency_key))
            throw new TypeError('invalid idempotency key for the provider protocol')
          const path = `${OPERATIONS_PATH}/${operation.idempotency_key}`
          const result = await exchange({ method: 'GET', path }, timeout_ms, signal)
          if (result.kind !== 'response') return { ...result, kind: 'unknown' }
          return lookupResult(operation, result.http_status, result.response)
        }),
      ),
    parseCallback({ method, path, headers, body }) {
      const request = { account_id, method, path, body }
      return verifySignedRequest(credentials.key, request, headers) ? parseReport(body) : undefined
    },
  }
}

/** What a response to a create proves (P4). */
function createResult(order: ProviderOrder, http_status: number, response: ProtocolResponse): CallResult {
  if (response.kind === 'report') return resultOfReport(order, http_status, response.report)
  if (response.provider_code === KEY_REUSED_CODE) return unknown('the key was used for another operation')
  if (order.earlier_result_unknown) return unknown('refused after an earlier request with an unknown result')
  return { kind: 'declined', ...toCode(response.provider_code, 7001) }
}

/** What a response to a lookup proves. A refused lookup proves nothing about the operation. */
function lookupResult(
  operation: OperationName,
  http_status: number,
  response: ProtocolResponse,
): LookupResult {
  if (response.kind === 'report') return resultOfReport(operation, http_status, response.report)
  return response.provider_code === NOT_FOUND_CODE ? { kind: 'not_found' } : unknown('the lookup was refused')
}

function unknown(reason: string): Unknown {
  return { kind: 'unknown', reason }
}
