import { describe, expect, test } from '@jest/globals'
import fc from 'fast-check'
import { bankOfCbu, isCbu, isClabe, isTurkishIban } from './bank-numbers.ts'

/** Published examples, and for each kind what its check digits or its form exclude. */
const NUMBERS: readonly (readonly [string, (text: string) => boolean, string[], string[]])[] = [
  [
    'CLABE',
    isClabe,
    ['032180000118359719', '002010077777777771', '014027000005555558', '646180157000000004'],
    ['032180000118359718', '03218000011835971', '0321800001183597190', '03218000011835971a', ''],
  ],
  [
    'CBU or CVU',
    isCbu,
    ['2850590940090418135201', '0170099220000067797370', '0000003100012345678907'],
    // The check digits of the bank and of the account, and the form.
    [
      '2850590840090418135201',
      '2850590940090418135202',
      '285059094009041813520',
      '28505909-0090418135201',
      '',
    ],
  ],
  [
    'Turkish IBAN',
    isTurkishIban,
    ['TR330006100519786457841326', 'TR320010009999901234567890'],
    [
      'TR340006100519786457841326',
      'tr330006100519786457841326',
      'TR33 0006 1005 1978 6457 8413 26',
      'TR33000610051978645784132',
      // Valid, and of another country.
      'DE89370400440532013000',
      '',
    ],
  ],
]

// P12
describe.each(NUMBERS)('a %s', (_name, isValid, valid, invalid) => {
  test.each(valid)('%s is valid', (text) => expect(isValid(text)).toBe(true))
  test.each(invalid)('"%s" is not valid', (text) => expect(isValid(text)).toBe(false))
  test('is never valid with white space around it, a line end included', () => {
    for (const text of valid) expect([` ${text}`, `${text} `, `${text}\n`].some(isValid)).toBe(false)
  })
})

test('the bank of a CBU is its first three digits', () => {
  expect(bankOfCbu('2850590940090418135201')).toBe('285')
})

const digits = (length: number): fc.Arbitrary<string> =>
  fc.string({ unit: fc.constantFrom(...'0123456789'), minLength: length, maxLength: length })
const position = fc.nat()
const digit = fc.constantFrom(...'0123456789')

/** The text with another digit at one position; `undefined` when it is the same digit. */
function withDigit(text: string, at: number, other: string): string | undefined {
  const index = at % text.length
  return text[index] === other ? undefined : text.slice(0, index) + other + text.slice(index + 1)
}

describe('check digits', () => {
  test('exactly one last digit makes a CLABE valid, and an error in one digit makes it invalid', () => {
    fc.assert(
      fc.property(digits(17), position, digit, (body, at, other) => {
        const valid = [...'0123456789'].map((last) => body + last).filter(isClabe)
        expect(valid).toHaveLength(1)
        const changed = withDigit(valid[0] ?? '', at, other)
        if (changed !== undefined) expect(isClabe(changed)).toBe(false)
      }),
    )
  })

  test('exactly one pair of check digits makes a CBU valid, and an error in one digit makes it invalid', () => {
    fc.assert(
      fc.property(digits(7), digits(13), position, digit, (bank, account, at, other) => {
        const pairs = Array.from({ length: 100 }, (_, pair) => String(pair).padStart(2, '0'))
        const valid = pairs.map(([first, second]) => `${bank}${first}${account}${second}`).filter(isCbu)
        expect(valid).toHaveLength(1)
        const changed = withDigit(valid[0] ?? '', at, other)
        if (changed !== undefined) expect(isCbu(changed)).toBe(false)
      }),
    )
  })

  test('the check digits of an IBAN make its number 1 modulo 97, and an error in one digit makes it invalid', () => {
    // T is 29 and R is 27; the country and the check digits go to the end (ISO 13616).
    const remainder = (account: string, check: string): bigint => BigInt(`${account}2927${check}`) % 97n
    fc.assert(
      fc.property(digits(22), position, digit, (account, at, other) => {
        const pairs = Array.from({ length: 97 }, (_, pair) => String(pair + 2).padStart(2, '0'))
        const valid = pairs.filter((check) => isTurkishIban(`TR${check}${account}`))
        expect(valid).toEqual(pairs.filter((check) => remainder(account, check) === 1n))
        expect(valid).toHaveLength(1)
        const changed = withDigit(account, at, other)
        if (changed !== undefined) expect(isTurkishIban(`TR${valid[0]}${changed}`)).toBe(false)
      }),
    )
  })

  test('an IBAN with check digits that are only congruent is not valid', () => {
    // 00, 01 and 99 are congruent to 97, 98 and 02.
    for (const [congruent, check] of [
      ['00', '97'],
      ['01', '98'],
      ['99', '02'],
    ]) {
      const account = accountWithCheckDigits(check ?? '')
      expect(isTurkishIban(`TR${check}${account}`)).toBe(true)
      expect(isTurkishIban(`TR${congruent}${account}`)).toBe(false)
    }
  })
})

function accountWithCheckDigits(check: string): string {
  const accounts = Array.from({ length: 97 * 3 }, (_, index) => String(index).padStart(22, '0'))
  return accounts.find((account) => isTurkishIban(`TR${check}${account}`)) ?? ''
}
