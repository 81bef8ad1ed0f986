import { z } from 'zod'
import type { Secret } from '#lib/base/crypto/secret.ts'
import type { Environment } from '#lib/contract/environment.ts'
import type { CallResult, LookupResult } from '../../domain/call-result.ts'
import { defineConnector, type OperationName, type ProviderCalls, type ProviderOrder } from '../connector.ts'
import type { AccountOf } from '../provider-account.ts'
import {
  INEXPRESSIBLE_ORDER,
  type ProviderHttp,
  type ProviderResponse,
  protocolViolation,
} from '../provider-http.ts'
import { isSuccess, resultOfReport } from '../provider-report.ts'
import {
  CREATE_PATHS,
  FORM_METHODS,
  orderForm,
  parseCreateResponse,
  parseLookupResponse,
} from './protocol.ts'

const LOOKUPS_MAX = 50
/** The request itself was not acceptable. A time-out, a conflict or a limit can be about one that a proxy has sent twice. */
const REJECTING_STATUSES: ReadonlySet<number> = new Set([400, 401, 403, 404, 422])

interface FormSettings {
  /** The provider's name of the operator. */
  readonly merchant_code: string
}

/**
 * The connector for a provider that takes forms, authorizes by a bearer token, has no idempotency keys and sends no
 * callbacks (docs/provider-protocol.md). A create is sent once, whatever happens: a second one would pay twice.
 */
export const formConnector = defineConnector<'token', FormSettings>({
  capabilities: {
    operations: ['deposit', 'withdrawal', 'refund'],
    methods: FORM_METHODS,
    lookups_max: LOOKUPS_MAX,
    sends_callbacks: false,
    idempotency_window_ms: 0,
  },
  poll_schedule: { first_ms: 5_000, max_ms: 60_000 },
  environments: ['test', 'production'],
  credentials: { token: { length_min: 16, pattern: /^[\x21-\x7e]+$/ } },
  settings: z.strictObject({ merchant_code: z.string().regex(/^[A-Z0-9-]{1,32}$/) }),
  account_identity: ['merchant_code'],
  connect: connectForm,
})

function connectForm<E extends Environment>(
  { credentials, settings }: AccountOf<E, 'token', FormSettings>,
  http: ProviderHttp<E>,
): ProviderCalls {
  const common = {
    content_type: 'application/x-www-form-urlencoded',
    credential: credentials.token,
    authenticate: (token: Secret) => ({ authorization: `Bearer ${token.reveal()}` }),
  }
  return {
    async create(order, timeout_ms, signal) {
      if (order.earlier_result_unknown)
        return { kind: 'unknown', reason: 'not sent: a second create would be a second operation' }
      const body = orderForm(order, settings.merchant_code)
      if (body === undefined) return INEXPRESSIBLE_ORDER
      const path = CREATE_PATHS[order.kind]
      const result = await http.request({ ...common, method: 'POST', path, body, timeout_ms, signal })
      if (result.kind !== 'response') return result
      return { ...createResult(order, result), http_status: result.http_status }
    },
    async lookUp(operations, timeout_ms, signal) {
      const query = new URLSearchParams()
      for (const { idempotency_key } of operations) query.append('reference', idempotency_key)
      const path = `/v1/transfers?${query}`
      const limits = { timeout_ms, signal, operations: operations.length }
      const result = await http.request({ ...common, method: 'GET', path, ...limits })
      if (result.kind !== 'response') return operations.map(() => ({ ...result, kind: 'unknown' }))
      return lookupResults(operations, result)
    },
  }
}

/**
 * What a response to a create proves (P4). A report counts with 2xx only. A refusal counts under any HTTP status for a reason
 * that the protocol defines, and under 2xx and a rejecting one for any: otherwise the provider may have the operation.
 */
function createResult(order: ProviderOrder, { http_status, body }: ProviderResponse): CallResult {
  const response = parseCreateResponse(body)
  if (response === undefined) return protocolViolation(`HTTP ${http_status} with an invalid body`)
  if (response.kind === 'refusal') {
    if (response.is_defined || isSuccess(http_status) || REJECTING_STATUSES.has(http_status))
      return { kind: 'declined', code: response.code }
    return protocolViolation(`HTTP ${http_status} with a fault`)
  }
  return resultOfReport(order, http_status, response.report)
}

/** The result of each lookup. A reference that the provider leaves out is not found. */
function lookupResults(
  operations: readonly OperationName[],
  { http_status, body }: ProviderResponse,
): readonly LookupResult[] {
  const found = isSuccess(http_status) ? parseLookupResponse(body) : undefined
  return operations.map((operation) => {
    if (found === undefined) return protocolViolation(`HTTP ${http_status} with an invalid body`)
    const [report, second] = found.reports.filter(
      ({ idempotency_key }) => idempotency_key === operation.idempotency_key,
    )
    if (report === undefined)
      return found.are_all_valid ? { kind: 'not_found' } : protocolViolation('an invalid transfer')
    // Without idempotency keys a reference can name several transfers. Which of them is ours cannot be known.
    if (second !== undefined) return protocolViolation('several transfers with one reference')
    return resultOfReport(operation, http_status, report)
  })
}
