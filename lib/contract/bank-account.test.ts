import { expect, test } from '@jest/globals'
import fc from 'fast-check'
import { type BankAccount, checkBankAccount } from './bank-account.ts'
import { PublicError } from './errors/public-error.ts'
import { ROUTE_CURRENCIES } from './money.ts'

const BANK = 'params.payment.receiver.bank'
const ACCOUNT = `${BANK}.account.id`
const IFSC = `${BANK}.ifsc`
const CODE = `${BANK}.code`

/** A valid account of each currency. */
const VALID = {
  INR: { account_id: '123456789', ifsc: 'SBIN0001234' },
  MXN: { account_id: '032180000118359719' },
  ARS: { account_id: '2850590940090418135201' },
  TRY: { account_id: 'TR330006100519786457841326' },
  AUD: { account_id: '12345', bank_code: '062000' },
  LKR: { account_id: '123456' },
} as const

type Row = readonly [keyof typeof VALID, Partial<BankAccount>, number, string]

/** What is refused, as a change of the valid account. */
const REFUSED: readonly Row[] = [
  ['INR', { account_id: '12345678' }, 8600, ACCOUNT],
  ['INR', { account_id: '1234567890123456789' }, 8600, ACCOUNT],
  ['INR', { account_id: '12345678x' }, 8600, ACCOUNT],
  ['INR', { account_id: '１２３４５６７８９' }, 8600, ACCOUNT],
  ['INR', { account_id: '' }, 8600, ACCOUNT],
  ['INR', { ifsc: 'sbin0001234' }, 8600, IFSC],
  ['INR', { ifsc: 'SBIN1001234' }, 8600, IFSC],
  ['INR', { ifsc: 'SBIN000123' }, 8600, IFSC],
  ['INR', { ifsc: '' }, 8600, IFSC],
  ['INR', { bank_code: '123' }, 9000, CODE],
  ['MXN', { account_id: '032180000118359718' }, 8600, ACCOUNT],
  ['MXN', { ifsc: 'SBIN0001234' }, 9000, IFSC],
  ['MXN', { bank_code: '032' }, 9000, CODE],
  ['ARS', { account_id: '2850590940090418135202' }, 8600, ACCOUNT],
  ['ARS', { bank_code: '286' }, 8601, CODE],
  ['ARS', { bank_code: '2850' }, 8601, CODE],
  ['ARS', { bank_code: '' }, 8601, CODE],
  ['ARS', { ifsc: 'SBIN0001234' }, 9000, IFSC],
  ['TRY', { account_id: 'TR340006100519786457841326' }, 8600, ACCOUNT],
  ['TRY', { bank_code: '00061' }, 9000, CODE],
  ['AUD', { account_id: '1234' }, 8600, ACCOUNT],
  ['AUD', { account_id: '1234567890' }, 8600, ACCOUNT],
  ['AUD', { bank_code: '06200' }, 8601, CODE],
  ['AUD', { bank_code: '062-000' }, 8601, CODE],
  ['AUD', { ifsc: 'SBIN0001234' }, 9000, IFSC],
  ['LKR', { account_id: '12345' }, 8600, ACCOUNT],
  ['LKR', { account_id: '1234567890123456789' }, 8600, ACCOUNT],
  ['LKR', { bank_code: '123' }, 9000, CODE],
]

const check = (currency: string, account: BankAccount) => (): void => checkBankAccount(currency, account)
const refusal = (code: number, description: string): object =>
  expect.objectContaining({ code, details: { description } })

test.each(ROUTE_CURRENCIES)('accepts a valid account in %s', (currency) => {
  expect(check(currency, VALID[currency])).not.toThrow()
})

// P12
test.each([
  ['INR', { account_id: '123456789012345678', ifsc: 'HDFC0ABC123' }],
  ['ARS', { account_id: '2850590940090418135201', bank_code: '285' }],
  ['AUD', { account_id: '123456789', bank_code: '062000' }],
  ['LKR', { account_id: '123456789012345678' }],
])('accepts in %s %j', (currency, account) => {
  expect(check(currency, account)).not.toThrow()
})

// P12
test.each(REFUSED)('refuses in %s %j with %d at %s', (currency, changes, code, path) => {
  expect(check(currency, { ...VALID[currency], ...changes })).toThrow(refusal(code, path))
})

// P12
test.each([
  ['INR', { account_id: '123456789' }, IFSC],
  ['AUD', { account_id: '12345' }, CODE],
])('refuses in %s an account without its required code with 1005', (currency, account, path) => {
  expect(check(currency, account)).toThrow(refusal(1005, path))
})

// E6
test('reports a missing field first, then a field that does not apply, then the fields in their order', () => {
  expect(check('AUD', { account_id: 'x', ifsc: 'x' })).toThrow(refusal(1005, CODE))
  expect(check('AUD', { account_id: 'x', ifsc: 'x', bank_code: 'x' })).toThrow(refusal(9000, IFSC))
  expect(check('AUD', { account_id: 'x', bank_code: 'x' })).toThrow(refusal(8600, ACCOUNT))
  expect(check('INR', { account_id: 'x', ifsc: 'x' })).toThrow(refusal(8600, ACCOUNT))
  expect(check('MXN', { account_id: 'x', ifsc: 'x', bank_code: 'x' })).toThrow(refusal(9000, IFSC))
})

test('any text is accepted or refused with one of the contract’s codes, and no error repeats it', () => {
  const text = fc.oneof(
    fc.string(),
    fc.stringMatching(/^[0-9]{1,24}$/),
    fc.constantFrom('SBIN0001234', '285'),
  )
  const account = fc.record(
    { account_id: text, ifsc: text, bank_code: text },
    { requiredKeys: ['account_id'] },
  )
  fc.assert(
    fc.property(fc.constantFrom(...ROUTE_CURRENCIES), account, (currency, input) => {
      try {
        checkBankAccount(currency, input)
      } catch (error) {
        expect(error).toBeInstanceOf(PublicError)
        const { code, details } = error as PublicError
        expect([1005, 9000, 8600, 8601]).toContain(code)
        expect(Object.values(details ?? {})).toEqual([
          expect.stringMatching(/^params\.payment\.receiver\.bank\./),
        ])
      }
    }),
  )
})

test('throws for a currency without rules, which no route has', () => {
  expect(check('USD', { account_id: '1' })).toThrow(TypeError)
  expect(check('constructor', { account_id: '1' })).toThrow(TypeError)
})
