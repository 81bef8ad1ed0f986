import { create } from '@bufbuild/protobuf'
import { expect, test } from '@jest/globals'
import { LedgerEntrySchema } from '#gen/multihub/balances/v1/balance_pb.ts'
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
  ['+1', "'+1"],
  ['@a', "'@a"],
  ['-a', "'-a"],
  ['-1+a', "'-1+a"],
  ['a, "b"', '"a, ""b"""'],
  ['-12.50', '-12.50'],
])('a cell of CSV is no formula: %s', (name, cell) => {
  expect(csvOf(name)).toBe(`${cell}\r\n`)
})

test('a negative amount is an amount in CSV, however large', () => {
  const entry = create(LedgerEntrySchema, { amount: { minor: -123_456_789n, currency: 'INR' } })
  const csv = printed((output) => printCsv(output, LedgerEntrySchema, [entry], ['amount'], FORM, false))
  expect(csv).toBe('"-1,234,567.89 INR"\r\n')
})
