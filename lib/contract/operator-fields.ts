import { type Timestamp, timestampDate } from '@bufbuild/protobuf/wkt'
import { fieldError } from './errors/public-error.ts'
import { requiredText } from './proto-fields.ts'
import { isLine, isText } from './text.ts'

/*
 * The checks of texts and times in the requests of operators and internal teams, which no schema of the gateway has seen.
 * Each refusal has the dotted path of the field.
 */

/** The longest id, in characters. A longer one does not fit into the keys of the stores. */
const ID_MAX = 128

/** The instants that a `google.protobuf.Timestamp` may have, in milliseconds: the years 1 to 9999. */
const INSTANT_MIN_MS = Date.parse('0001-01-01T00:00:00.000Z')
const INSTANT_MAX_MS = Date.parse('9999-12-31T23:59:59.999Z')

/** Accepts a text, which may be empty and have several lines. Throws 9000 when it is too long or cannot be stored (E5). */
export function checkText(text: string, path: string, characters_max: number): string {
  if (!isText(text, characters_max))
    throw fieldError(9000, path, `at most ${characters_max} characters, without U+0000`)
  return text
}

/** Accepts a text without control characters, which may be empty. Throws 9000 for any other. */
export function checkLine(text: string, path: string, characters_max = ID_MAX): string {
  if (!isLine(text, characters_max))
    throw fieldError(9000, path, `at most ${characters_max} characters, none of them control characters`)
  return text
}

/** Accepts an id that must not be empty. Throws 1005 without one, and 9000 for what no id is. */
export function requiredId(text: string, path: string): string {
  return checkLine(requiredText(text, path), path)
}

/** Accepts an id that may be empty, which is `undefined`. Throws 9000 for what no id is. */
export function optionalId(text: string, path: string): string | undefined {
  return text === '' ? undefined : checkLine(text, path)
}

/** Accepts an instant in the years 1 to 9999. Throws 9000 for any other, which stores cannot compare. */
export function checkInstant(timestamp: Timestamp, path: string): Date {
  const instant = timestampDate(timestamp)
  const is_valid = instant.getTime() >= INSTANT_MIN_MS && instant.getTime() <= INSTANT_MAX_MS
  if (!is_valid) throw fieldError(9000, path, 'a time in the years 1 to 9999')
  return instant
}

/** The bounds of a list by the time of creation; each may be absent. `path` is the path of the message, or empty. */
export function createdRange(
  message: { readonly createdFrom?: Timestamp | undefined; readonly createdTo?: Timestamp | undefined },
  path: '' | 'filter.' = '',
): { readonly created_from?: Date; readonly created_to?: Date } {
  const { createdFrom, createdTo } = message
  return {
    ...(createdFrom ? { created_from: checkInstant(createdFrom, `${path}created_from`) } : {}),
    ...(createdTo ? { created_to: checkInstant(createdTo, `${path}created_to`) } : {}),
  }
}
