import { fieldError } from '#lib/contract/errors/public-error.ts'

/** The longest reason or note, in characters (S1). */
const REASON_MAX = 500

/** A text of the operator, which may be empty. Throws 9000 with its path when it is too long. */
export function boundedText(text: string, path: string, characters_max = REASON_MAX): string {
  if (text.length > characters_max && [...text].length > characters_max) throw fieldError(9000, path)
  return text
}
