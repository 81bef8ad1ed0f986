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
