import { weightedCheckDigit } from './check-digit.ts'

const CBU = /^[0-9]{22}$/
const BANK_WEIGHTS = [7, 1, 3, 9]
const ACCOUNT_WEIGHTS = [3, 9, 7, 1]

/**
 * Whether a text is a CBU or a CVU, the numbers of Argentine accounts at banks and at payment providers (P12). Both are
 * 22 digits in two parts, bank and branch (8) and account (14); each ends with its check digit.
 */
export function isCbu(text: string): boolean {
  if (!CBU.test(text)) return false
  const bank = weightedCheckDigit(text.slice(0, 7), BANK_WEIGHTS)
  const account = weightedCheckDigit(text.slice(8, 21), ACCOUNT_WEIGHTS)
  return text[7] === bank && text[21] === account
}

/** The code of the bank, which a CBU begins with. */
export function bankOfCbu(cbu: string): string {
  return cbu.slice(0, 3)
}
