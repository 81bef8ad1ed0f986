import { retryWord } from '#lib/contract/errors/error-retry.ts'
import { ERROR_TABLE, isErrorCode } from '#lib/contract/errors/error-table.ts'

/** A generated file: its path from the root and its text. */
export interface GeneratedText {
  readonly path: string
  readonly text: string
}

/** Each code of the error table with the word that a client follows. */
export const RETRY_WORDS = Object.keys(ERROR_TABLE)
  .map(Number)
  .filter(isErrorCode)
  .map((code) => [code, retryWord(code)] as const)
