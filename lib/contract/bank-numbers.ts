/**
 * The check digit that makes the weighted sum of all digits a multiple of 10. `weights` repeat when there are more
 * digits. CLABE and CBU both end their parts with such a digit; their weights are coprime to 10, so that every error in one
 * digit is found.
 */
function weightedCheckDigit(digits: string, weights: readonly number[]): string {
  let sum = 0
  for (let index = 0; index < digits.length; index += 1)
    sum += Number(digits[index]) * (weights[index % weights.length] ?? 0)
  return String((10 - (sum % 10)) % 10)
}

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

const CLABE = /^[0-9]{18}$/
const WEIGHTS = [3, 7, 1]

/** Whether a text is a CLABE, the number of a Mexican bank account: 18 digits, the last of them the check digit (P12). */
export function isClabe(text: string): boolean {
  return CLABE.test(text) && weightedCheckDigit(text.slice(0, 17), WEIGHTS) === text[17]
}

/** Country, check digits, bank (5 digits), a reserved digit and the account (16 letters or digits). */
const TURKISH_IBAN = /^TR[0-9]{2}[0-9]{6}[0-9A-Z]{16}$/

/**
 * Whether a text is a Turkish IBAN in capital letters and without spaces, with the check digits of ISO 13616 (P12).
 * Other check digits that are congruent modulo 97 (00, 01 and 99) are refused, because no bank issues them.
 */
export function isTurkishIban(text: string): boolean {
  return TURKISH_IBAN.test(text) && text.slice(2, 4) === ibanCheckDigits(text.slice(0, 2), text.slice(4))
}

/** The check digits of ISO 13616: they make the whole number 1 modulo 97 when letters count from 10 (A) to 35 (Z). */
function ibanCheckDigits(country: string, account: string): string {
  let remainder = 0
  for (const character of `${account}${country}00`) {
    const value = Number.parseInt(character, 36)
    remainder = (remainder * (value < 10 ? 10 : 100) + value) % 97
  }
  return String(98 - remainder).padStart(2, '0')
}
