import type { Client } from '@connectrpc/connect'
import type { TestRequestService } from '#gen/multihub/gateway/v1/test_request_service_pb.ts'
import { PublicError } from '#lib/contract/errors/public-error.ts'
import type { MethodName } from '#lib/contract/methods.ts'
import { CALL_TIMEOUT_MAX_MS } from '#lib/rpc/settings.ts'
import { fromOwner } from './from-owner.ts'

/** The application that sends public requests. */
export interface Sender {
  readonly merchant_id: string
  readonly application_id: string
}

/** A public request without its signature. */
export interface PublicRequest {
  readonly method: MethodName
  readonly service_id?: string
  readonly operation_id?: string
  readonly params: object
}

/** The response to a public request: the `h_id` of what it made, or the code of its refusal with what explains it. */
export type PublicAnswer =
  | { readonly ok: true; readonly h_id: string }
  | { readonly ok: false; readonly code: number; readonly text: string }

/** Sends a public request of an application. Throws 2002 where no answer came. */
export async function sendPublic(
  gateway: Client<typeof TestRequestService>,
  { merchant_id, application_id }: Sender,
  request: PublicRequest,
): Promise<PublicAnswer> {
  const { body } = await fromOwner(
    'gateway',
    gateway.sendTestRequest(
      { merchantId: merchant_id, applicationId: application_id, body: JSON.stringify(request) },
      { timeoutMs: CALL_TIMEOUT_MAX_MS },
    ),
  )
  // While it stops, the gateway answers without a body.
  if (body === '') throw new PublicError(2002, { details: { description: 'gateway' } })
  const { result, error } = JSON.parse(body)
  if (error) {
    const { code, message, details } = error
    return {
      ok: false,
      code: Number(code),
      text: details ? `${message} ${JSON.stringify(details)}` : message,
    }
  }
  return { ok: true, h_id: String(result?.identifiers?.h_id ?? '') }
}

/** What the operator or the developer can do about a refusal. */
const ADVICE: Readonly<Record<number, string>> = {
  1000: 'the application has used up its requests per minute for this method',
  1002: 'the method is disabled for the application, or its support_resources lack the resource',
  3004: 'the application is disabled',
  3005: 'the application is blocked',
  3006: 'its ip_allowlist must have 127.0.0.1, from where these requests come',
  3008: 'the application lacks the scope, or may not use the route or the currency',
  3009: 'the application has used up its daily_limit',
}

/** The refusals that keep their code: they are no fault of the request, and go away. */
const PASSING: readonly number[] = [2001, 2002]

/** The refusal of a public request: 1000 for a used-up limit, 1013, 2002, or 1003, with a reason that says what is missing. */
export function publicRefusal(
  { method }: Pick<PublicRequest, 'method'>,
  { code, text }: { readonly code: number; readonly text: string },
): PublicError {
  if (PASSING.includes(code)) return new PublicError(2002, { details: { description: 'gateway' } })
  const advice = ADVICE[code] === undefined ? '' : `: ${ADVICE[code]}`
  const reason = `${method} was refused with ${code} (${text})${advice}`
  const is_limit = code === 1000 || code === 3009
  return new PublicError(is_limit ? 1000 : code === 1013 ? 1013 : 1003, { details: { reason } })
}
