import { fieldError, type PublicError } from '#lib/contract/errors/public-error.ts'

/** Parses a numeric id, which RPCs carry as digits; `undefined` for a text that cannot be one. */
export function parseNumericId(digits: string): number | undefined {
  return /^[1-9]\d{0,14}$/.test(digits) ? Number(digits) : undefined
}

/** The refusal of an unknown id: 1004 for a route, 3003 for a credential, 1003 for a merchant or an endpoint. */
export function notFound(code: 1003 | 1004 | 3003, path: string): PublicError {
  return fieldError(code, path, 'nothing has this id')
}

/** Accepts an integer from `min` to `max`, both included. */
export function checkInteger(value: number, path: string, min: number, max: number): number {
  if (!Number.isInteger(value) || value < min || value > max) {
    throw fieldError(9000, path, `an integer from ${min} to ${max}`)
  }
  return value
}

/** Accepts an integer from 0 to 2^53-1, the largest that a public JSON number carries exactly. */
export function checkQuantity(value: bigint, path: string): bigint {
  if (value < 0n || value > BigInt(Number.MAX_SAFE_INTEGER))
    throw fieldError(9000, path, 'an integer from 0 to 2^53-1')
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
    if (match === undefined) throw fieldError(9000, `${path}.${place}`, `one of ${known.join(', ')}`)
    return match
  })
  return [...new Set(accepted)]
}

/** Refuses a list of more than `max` entries. */
export function checkCount(values: readonly unknown[], path: string, max: number): void {
  if (values.length > max) throw fieldError(9000, path, `at most ${max} entries`)
}
