import { weightedCheckDigit } from './check-digit.ts'

const CLABE = /^[0-9]{18}$/
const WEIGHTS = [3, 7, 1]

/** Whether a text is a CLABE, the number of a Mexican bank account: 18 digits, the last of them the check digit (P12). */
export function isClabe(text: string): boolean {
  return CLABE.test(text) && weightedCheckDigit(text.slice(0, 17), WEIGHTS) === text[17]
}
