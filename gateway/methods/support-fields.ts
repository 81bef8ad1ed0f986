import { instant, integer, text, uuid } from '../json/scalars.ts'
import { described, notApplicable, object, optional, type Schema } from '../json/schema.ts'
import { MERCHANT_REFERENCE, METHOD } from './request-fields.ts'

/** The envelope fields of a support method that is not keyed by an `operation_id`. None takes a `service_id`. */
export const SUPPORT_ENVELOPE = {
  method: METHOD,
  service_id: notApplicable(),
  operation_id: notApplicable(),
} as const

/** The envelope fields of a mutation that is keyed by its `operation_id` (S3). */
export const MUTATION_ENVELOPE = {
  method: METHOD,
  service_id: notApplicable(),
  operation_id: described(
    'The idempotency key, permanently. Reuse it only to repeat exactly the same request; with another request it is 1013.',
    text(MERCHANT_REFERENCE),
  ),
} as const

/** The text of a comment of a ticket or a refund (S1). */
export const COMMENT_BODY = text({ min: 1, max: 5_000 })

/** The page of a list (S6). */
export const PAGE_FIELDS = {
  limit: described('The size of the page; 25 without one.', optional(integer({ min: 1, max: 100 }))),
  cursor: described(
    'The `next_cursor` of the page before, unchanged, with the same filters.',
    optional(text({ min: 1, max: 1_024 })),
  ),
} as const

/** The bounds of the creation in a list or a summary. */
export const CREATED_FIELDS = {
  created_from: described('Created at this time or later.', optional(instant())),
  created_to: described('Created before this time.', optional(instant())),
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

/** A payment that a support method is about, by its `c_id` or its `h_id`, which is not a UUID on every route (P1). */
export function paymentIdentifiers(): Schema<{ readonly c_id?: string; readonly h_id?: string }, 'required'> {
  return object(
    {
      c_id: described('Your own reference of the payment.', optional(text(MERCHANT_REFERENCE))),
      h_id: described('Our identifier of the payment.', optional(text({ min: 1, max: 128 }))),
    },
    { exactly_one: ['c_id', 'h_id'] },
  )
}
