import { ERROR_ADVICE } from '#lib/contract/errors/error-advice.ts'
import { ERROR_TABLE, isErrorCode } from '#lib/contract/errors/error-table.ts'
import type { Output } from '../terminal.ts'

/** Prints what codes of the error table mean, and what a merchant does about them. */
export function explainCodes(output: Output, codes: Iterable<number>): void {
  for (const code of [...codes].sort((a, b) => a - b)) {
    if (code === 0) continue
    if (isErrorCode(code))
      output.write(
        `${code} ${ERROR_TABLE[code].message}\n  for the merchant: ${ERROR_ADVICE[code].replaceAll('`', '')}\n`,
      )
    else output.write(`${code} is not in the error table of this release\n`)
  }
}
