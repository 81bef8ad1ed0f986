import { REFERENCE } from '../json/formats.ts'
import { type TextRule, text } from '../json/scalars.ts'
import { optional, type Schema } from '../json/schema.ts'

/** The method's own name, which has been looked up before. */
export const METHOD = text({ max: 64 })

/** A merchant's reference: a c_id or an operation_id (P2). */
export const MERCHANT_REFERENCE: TextRule = { min: 1, max: 128, format: REFERENCE }

/** A text that may be left out. */
export function optionalText(rule: TextRule): Schema<string, 'optional'> {
  return optional(text(rule))
}
