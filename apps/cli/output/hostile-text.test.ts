import { create } from '@bufbuild/protobuf'
import { expect, test } from '@jest/globals'
import { BalanceSchema, type LedgerEntry, LedgerEntrySchema } from '#gen/multihub/balances/v1/balance_pb.ts'
import { type Merchant, MerchantSchema } from '#gen/multihub/merchants/v1/merchant_pb.ts'
import { printCsv, printResource, printTable } from './print.ts'

/** Clears the screen in two ways, turns the direction, hides itself, and begins a line of its own. */
const HOSTILE_NAME = 'a\u001b[2Jb\u009b2Jc\u202ed\u200be\r\nf\u2028g'
const FORM = { is_minor: false }

function printed(print: (output: { write(text: string): unknown }) => void): string {
  let text = ''
  print({ write: (more) => (text += more) })
  return text
}

const csvOf = (name: string): string => {
  const rows: readonly Merchant[] = [create(MerchantSchema, { name })]
  return printed((output) => printCsv(output, MerchantSchema, rows, ['name'], FORM, false))
}

test('no text of a merchant moves the cursor, hides something or adds a line', () => {
  const merchant = create(MerchantSchema, { merchantId: '1', name: HOSTILE_NAME })
  const columns = ['merchant_id', 'name']
  const shown = 'a�[2Jb�2Jc�d�e f�g'
  expect(printed((output) => printTable(output, MerchantSchema, [merchant], columns, FORM))).toMatch(
    new RegExp(`^MERCHANT  NAME\n1 +${shown.replaceAll('[', '\\[')}\n$`),
  )
  const lines = printed((output) => printResource(output, MerchantSchema, merchant, FORM)).split('\n')
  expect(lines).toContain(`name         ${shown}`)
  expect(csvOf(HOSTILE_NAME)).toBe(`${shown}\r\n`)
})

test.each([
  ['=cmd()', "'=cmd()"],
  [' =cmd()', "' =cmd()"],
  ['+1', "'+1"],
  ['@a', "'@a"],
  ['-a', "'-a"],
  ['-1+a', "'-1+a"],
  ['a, "b"', '"a, ""b"""'],
  ['-12.50', '-12.50'],
])('a cell of CSV is no formula: %s', (name, cell) => {
  expect(csvOf(name)).toBe(`${cell}\r\n`)
})

test.each([
  [false, '-1234567.89'],
  [true, '-123456789'],
])(
  'an amount in CSV is a number that a spreadsheet can sum, beside its currency (minor units: %s)',
  (is_minor, number) => {
    const entry = create(LedgerEntrySchema, { amount: { minor: -123_456_789n, currency: 'INR' } })
    const csv = (rows: readonly LedgerEntry[]) =>
      printed((output) => printCsv(output, LedgerEntrySchema, rows, ['amount', 'kind'], { is_minor }, true))
    expect(csv([entry])).toBe(`amount,amount_currency,kind\r\n${number},INR,\r\n`)
    expect(csv([create(LedgerEntrySchema)])).toBe('amount,amount_currency,kind\r\n,,\r\n')
  },
)

test('a row that has a column of the currency has no second one', () => {
  const balance = create(BalanceSchema, { currency: 'JPY', available: 1_200n, held: 0n })
  const columns = ['currency', 'available:money', 'held:money']
  expect(printed((output) => printCsv(output, BalanceSchema, [balance], columns, FORM, true))).toBe(
    'currency,available,held\r\nJPY,1200,0\r\n',
  )
})
