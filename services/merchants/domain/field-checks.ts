import { fieldError, PublicError } from '#lib/contract/errors/public-error.ts'

const CONTROL = /\p{Cc}/u

/** The refusal of a required field that is missing: 1005. `path` is its dotted name in the request (E4). */
export function missing(path: string): PublicError {
  return fieldError(1005, path)
}

/** The refusal of a field's content: 9000. `reason` states what the operator may write instead. */
export function invalid(path: string, reason: string): PublicError {
  return new PublicError(9000, { details: { description: path, reason } })
}

/** The refusal of an unknown id: 1004 for a route, 3003 for a credential, 1003 for a merchant or an endpoint. */
export function notFound(code: 1003 | 1004 | 3003, path: string): PublicError {
  return new PublicError(code, { details: { description: path, reason: 'nothing has this id' } })
}

/** Accepts a text of up to `max` code points without control characters. An empty text is valid. */
export function checkText(text: string, path: string, max: number): string {
  const length = [...text].length
  if (length > max || CONTROL.test(text) || !text.isWellFormed()) {
    throw invalid(path, `at most ${max} characters, none of them control characters`)
  }
  return text
}

/** Accepts an integer from `min` to `max`, both included. */
export function checkInteger(value: number, path: string, min: number, max: number): number {
  if (!Number.isInteger(value) || value < min || value > max) {
    throw invalid(path, `an integer from ${min} to ${max}`)
  }
  return value
}

/** Accepts an integer from 0 to 2^53-1, the largest that a public JSON number carries exactly. */
export function checkQuantity(value: bigint, path: string): bigint {
  if (value < 0n || value > BigInt(Number.MAX_SAFE_INTEGER))
    throw invalid(path, 'an integer from 0 to 2^53-1')
  return value
}

/** Accepts words of a known list and drops repetitions. The refusal names an unknown word by its place: `scopes.2`. */
export function checkWords<const Word extends string>(
  words: readonly string[],
  path: string,
  known: readonly Word[],
): Word[] {
  const accepted = words.map((word, place) => {
    const match = known.find((candidate) => candidate === word)
    if (match === undefined) throw invalid(`${path}.${place}`, `one of ${known.join(', ')}`)
    return match
  })
  return [...new Set(accepted)]
}

/** Refuses a list of more than `max` entries. */
export function checkCount(values: readonly unknown[], path: string, max: number): void {
  if (values.length > max) throw invalid(path, `at most ${max} entries`)
}
