import { text, uuid } from '../json/scalars.ts'
import { described, notApplicable, object, optional, type Schema } from '../json/schema.ts'
import { MERCHANT_REFERENCE, METHOD } from './request-fields.ts'

/** The envelope fields of a support method that is not keyed by an `operation_id`. None takes a `service_id`. */
export const SUPPORT_ENVELOPE = {
  method: METHOD,
  service_id: notApplicable(),
  operation_id: notApplicable(),
} as const

/** A resource of a support method, by its `c_id` or its `h_id`: exactly one of them. */
export function resourceIdentifiers(): Schema<
  { readonly c_id?: string; readonly h_id?: string },
  'required'
> {
  return object(
    {
      c_id: described('Your own reference.', optional(text(MERCHANT_REFERENCE))),
      h_id: described('Our identifier.', optional(uuid())),
    },
    { exactly_one: ['c_id', 'h_id'] },
  )
}
