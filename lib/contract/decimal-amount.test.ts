import { describe, expect, test } from '@jest/globals'
import fc from 'fast-check'
import { exponentOf, formatDecimal, parseDecimal } from './decimal-amount.ts'
import { AMOUNT_MAX, INT64_MAX } from './money.ts'

describe('an amount', () => {
  test.each([
    [1n, 'JPY', '1'],
    [AMOUNT_MAX, 'JPY', '9007199254740991'],
    [1n, 'INR', '0.01'],
    [10n, 'INR', '0.10'],
    [100n, 'INR', '1.00'],
    [AMOUNT_MAX, 'INR', '90071992547409.91'],
    [1n, 'KWD', '0.001'],
    [1_000n, 'KWD', '1.000'],
    [AMOUNT_MAX, 'KWD', '9007199254740.991'],
    [1n, 'CLF', '0.0001'],
    [0n, 'INR', '0.00'],
  ] as const)('%d of %s is %p, and is read back', (minor, currency, text) => {
    expect(formatDecimal({ minor, currency })).toBe(text)
    expect(parseDecimal(text, currency)).toEqual({ minor, currency })
  })

  test('of any size and currency survives the way there and back', () => {
    const currencies = fc.constantFrom('JPY', 'INR', 'MXN', 'ARS', 'TRY', 'AUD', 'LKR', 'KWD', 'CLF')
    fc.assert(
      fc.property(fc.bigInt({ min: 0n, max: INT64_MAX }), currencies, (minor, currency) => {
        expect(parseDecimal(formatDecimal({ minor, currency }), currency)).toEqual({ minor, currency })
      }),
    )
  })

  test('can be written with fewer decimal places than its currency has', () => {
    expect(parseDecimal('7', 'INR')).toEqual({ minor: 700n, currency: 'INR' })
    expect(parseDecimal('7.5', 'KWD')).toEqual({ minor: 7_500n, currency: 'KWD' })
  })

  test.each([
    ['more decimal places than the currency has', '1.001', 'INR'],
    ['more decimal places, which are zeros', '1.000', 'INR'],
    ['decimal places in a currency without them', '1.0', 'JPY'],
    ['a sign', '-1.00', 'INR'],
    ['a plus sign', '+1.00', 'INR'],
    ['an exponent', '1e2', 'INR'],
    ['a leading zero', '01.00', 'INR'],
    ['a comma', '1,00', 'INR'],
    ['a separator of thousands', '1 000.00', 'INR'],
    ['nothing before the point', '.50', 'INR'],
    ['nothing after the point', '1.', 'INR'],
    ['white space', ' 1.00', 'INR'],
    ['a line feed at the end', '1.00\n', 'INR'],
    ['other digits', '١.00', 'INR'],
    ['nothing', '', 'INR'],
    ['a word', 'NaN', 'INR'],
    ['hexadecimal digits', '0x10', 'INR'],
    ['a currency without a minor unit', '1.00', 'XAU'],
    ['a currency that does not exist', '1.00', 'ABC'],
  ])('with %s is not read', (_what, text, currency) => {
    expect(parseDecimal(text, currency)).toBeUndefined()
  })

  test.each([
    ['negative', -1n, 'INR'],
    ['in a currency without a minor unit', 1n, 'XXX'],
    ['in an unknown currency', 1n, 'abc'],
  ] as const)('%s cannot be written', (_what, minor, currency) => {
    expect(() => formatDecimal({ minor, currency })).toThrow(TypeError)
  })
})

test('exponents follow ISO 4217', () => {
  expect(['JPY', 'INR', 'KWD', 'CLF', 'XAU', 'ZWL'].map(exponentOf)).toEqual([
    0,
    2,
    3,
    4,
    undefined,
    undefined,
  ])
})
