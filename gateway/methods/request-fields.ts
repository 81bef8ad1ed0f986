import { NO_CONTROL_CHARACTERS, serviceId, type TextRule, text } from '../json/scalars.ts'
import { described, notApplicable, object, optional, type Schema } from '../json/schema.ts'

/** The name of the method, which the gateway has already looked up. */
export const METHOD = text({ max: 64 })

/** The route of a new payment. */
export const SERVICE_ID = described(
  'The number of one of your routes. Any other number is 1004.',
  serviceId(),
)

/** A reference that the merchant chooses: a c_id or an operation_id (P2). */
export const MERCHANT_REFERENCE: TextRule = { min: 1, max: 128, format: NO_CONTROL_CHARACTERS }

/** A text that may be absent. */
export function optionalText(rule: TextRule): Schema<string, 'optional'> {
  return optional(text(rule))
}

/** The route in a request for an existing payment. It is accepted, but the route of the stored payment counts (E9). */
export const IGNORED_SERVICE_ID = described(
  'Accepted, but has no effect: the route that the payment was created with counts.',
  optional(serviceId()),
)

/** The parameters of a request for an existing payment. If both identifiers are given, both must match the same payment (P16). */
export const EXISTING_PAYMENT_PARAMS = object({
  payment: object({
    identifiers: object(
      {
        c_id: described('Your own reference.', optional(text(MERCHANT_REFERENCE))),
        h_id: described('Our identifier, from the response to `payment.in`.', optionalText({ max: 128 })),
        p_id: notApplicable(),
      },
      { at_least_one: ['c_id', 'h_id'] },
    ),
  }),
})
