import { fieldError } from '#lib/contract/errors/public-error.ts'

/** The longest reason or note, in characters (S7). */
const REASON_MAX = 500

/** The longest comment, in characters (S1). */
export const COMMENT_MAX = 5_000

/** The longest operation id, in characters (P2). */
const OPERATION_ID_MAX = 128

const CONTROL = /\p{Cc}/u

/**
 * A text of the operator, which may be empty, by the rules of merchants' texts (E5). Throws 9000 with its path when it is too
 * long or has U+0000 or a lone surrogate.
 */
export function operatorText(text: string, path: string, characters_max = REASON_MAX): string {
  const is_short = text.length <= characters_max || [...text].length <= characters_max
  if (!is_short || text.includes('\0') || !text.isWellFormed())
    throw fieldError(9000, path, `at most ${characters_max} characters, without U+0000`)
  return text
}

/** A code or key of the operator, which may be empty. Throws 9000 with its path, also for a control character (P2). */
export function operatorKey(text: string, path: string, characters_max = OPERATION_ID_MAX): string {
  if (CONTROL.test(text)) throw fieldError(9000, path, 'a text without control characters')
  return operatorText(text, path, characters_max)
}
