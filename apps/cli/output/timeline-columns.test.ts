import { expect, test } from '@jest/globals'
import { columnsOf, wrap } from './timeline-columns.ts'

test.each([
  ['status', 'Payment created: deposit of 5.00 INR by upi', 'payment', 'created: deposit of 5.00 INR by upi'],
  ['attempt', 'Attempt 2 at sandbox: paid, after 3 ms', 'attempt 2', 'sandbox: paid, after 3 ms'],
  ['attempt', 'Refund sent to sandbox: paid, after 3 ms', 'refund', 'sent to sandbox: paid, after 3 ms'],
  ['event', 'Event payment.created has no receiver', 'payment.created', 'has no receiver'],
  ['delivery', 'Callback payment.created to a, try 1: 200', 'payment.created', 'callback to a, try 1: 200'],
  ['ledger_entry', 'Ledger: 5.00 INR from a to b', 'ledger', '5.00 INR from a to b'],
  ['operator_act', 'Refund called ApproveRefund: done', 'person', 'Refund called ApproveRefund: done'],
  ['new_kind', 'Something new', 'new kind', 'Something new'],
])('a row of the kind %s: %s', (kind, title, what, text) => {
  expect(columnsOf(kind, title)).toEqual([what, text])
})

test('a text is broken at spaces, and a word is never cut', () => {
  expect(wrap('one two three', 7)).toEqual(['one two', 'three'])
  expect(wrap('one two three', 3)).toEqual(['one', 'two', 'three'])
  expect(wrap('one', 80)).toEqual(['one'])
  expect(wrap('', 80)).toEqual([''])
})
