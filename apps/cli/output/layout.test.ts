import { create } from '@bufbuild/protobuf'
import { timestampFromDate } from '@bufbuild/protobuf/wkt'
import { expect, test } from '@jest/globals'
import { PaymentSchema, PaymentStatus } from '#gen/multihub/payments/v1/payment_pb.ts'
import { noun } from '../nouns/payments.ts'
import { printTable } from './print.ts'

/** The table of two payments, one with a reference that is long and turns the direction of text, on a terminal of this width. */
function tableAt(columns: number): readonly string[] {
  const payment = (cId: string, minor: bigint) =>
    create(PaymentSchema, {
      paymentId: '01a2244b-9123-70da-9b6f-0c7791042333',
      cId,
      amount: { minor, currency: 'INR' },
      status: PaymentStatus.SUCCESS,
      merchantId: '1001',
      createTime: timestampFromDate(new Date('2026-11-28T08:12:07.574Z')),
    })
  const rows = [payment('order-17', 12_300n), payment(`long-${'x'.repeat(30)}\u202e`, 123_456_789n)]
  let text = ''
  const output = { isTTY: true, columns, write: (more: string) => (text += more) }
  const list = noun.verbs.find(({ name }) => name === 'list')
  printTable(output, PaymentSchema, rows, list?.columns ?? [], { is_minor: false })
  return text.trimEnd().split('\n')
}

test('a list of payments on 80 columns', () => {
  expect(tableAt(80)).toEqual([
    'PAYMENT                                         AMOUNT  STATUS   C ID',
    '01a2244b-9123-70da-9b6f-0c7791042333        123.00 INR  success  order-17',
    '01a2244b-9123-70da-9b6f-0c7791042333  1,234,567.89 INR  success  long-xxxxxxxxx…',
    '(too narrow for CREATED (UTC), MERCHANT; --json has everything)',
  ])
})

test('a list of payments on 200 columns', () => {
  expect(tableAt(200)).toEqual([
    'PAYMENT                                         AMOUNT  STATUS   C ID                                  CREATED (UTC)        MERCHANT',
    '01a2244b-9123-70da-9b6f-0c7791042333        123.00 INR  success  order-17                              2026-11-28 08:12:07  1001',
    '01a2244b-9123-70da-9b6f-0c7791042333  1,234,567.89 INR  success  long-xxxxxxxxxxxxxxxxxxxxxxxxxxxxxx\u{fffd}  2026-11-28 08:12:07  1001',
  ])
})
