import { ERROR_TABLE, type ErrorCode, type Retry } from './error-table.ts'

/**
 * What a program does after an error, as one word: `never` does not repeat the request unchanged, `same_request` sends the same
 * bytes again later, `check_status` does the same but looks a payment up first, `next_utc_day` waits for 00:00 UTC, and
 * `after_scan` waits until the file is scanned.
 */
export type RetryWord = 'never' | 'same_request' | 'check_status' | 'next_utc_day' | 'after_scan'

const WORDS: Readonly<Record<Retry, RetryWord>> = {
  no: 'never',
  yes: 'same_request',
  depends: 'check_status',
  next_day: 'next_utc_day',
  while_scanning: 'after_scan',
}

/** After these the payment of a create may exist (E14). */
const UNDECIDED: ReadonlySet<ErrorCode> = new Set([2001, 2002])

/** The word for a code: the advice of the error reference in a form that a program can follow. */
export function retryWord(code: ErrorCode): RetryWord {
  return UNDECIDED.has(code) ? 'check_status' : WORDS[ERROR_TABLE[code].retry]
}
