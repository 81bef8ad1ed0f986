import { scopeToProto } from '#lib/contract/merchant-scope.ts'
import type { Caller } from '../auth/credential.ts'
import { NO_CONTROL_CHARACTERS, serviceId, type TextRule, text } from '../json/scalars.ts'
import { described, optional, type Schema } from '../json/schema.ts'

/** The name of the method, which the gateway has already looked up. */
export const METHOD = text({ max: 64 })

/** The route of a new payment. */
export const SERVICE_ID = described(
  'The number of one of your routes. Any other number is refused with 1004.',
  serviceId(),
)

/** A reference that the merchant chooses: a c_id or an operation_id (P2). */
export const MERCHANT_REFERENCE: TextRule = { min: 1, max: 128, format: NO_CONTROL_CHARACTERS }

/** A text that may be absent. */
export function optionalText(rule: TextRule): Schema<string, 'optional'> {
  return optional(text(rule))
}

/** The caller's scope with the restrictions of its credential, which payments applies to the route of a payment (E9). */
export function permittedScope(caller: Caller) {
  const { application_id: applicationId, service_ids, currencies } = caller
  const policy = { applicationId, serviceIds: [...service_ids], currencies: [...currencies] }
  return { ...scopeToProto(caller), policy }
}
