import { REFERENCE } from '../json/formats.ts'
import { serviceId, type TextRule, text } from '../json/scalars.ts'
import { described, optional, type Schema } from '../json/schema.ts'

/** The method's own name, which has been looked up before. */
export const METHOD = text({ max: 64 })

/** The route of a payment. */
export const SERVICE_ID = described('The number of one of your routes; any other is 1004.', serviceId())

/** A merchant's reference: a c_id or an operation_id (P2). */
export const MERCHANT_REFERENCE: TextRule = { min: 1, max: 128, format: REFERENCE }

/** A text that may be left out. */
export function optionalText(rule: TextRule): Schema<string, 'optional'> {
  return optional(text(rule))
}
