import { describe, expect, test } from '@jest/globals'
import { parseOrder } from '../http/protocol.ts'
import { paymentScenario } from './scenarios.ts'
import { afterTry, newTransaction } from './transaction.ts'

const start = new Date('2026-11-21T12:00:00Z')
const order = parseOrder(
  Buffer.from(
    JSON.stringify({
      kind: 'withdrawal',
      idempotency_key: 'k1',
      amount: 1909,
      currency: 'INR',
      method: 'imps',
      callback_url: 'http://127.0.0.1:1/',
      beneficiary: { account_id: '1' },
    }),
  ),
)
if (order === undefined) throw new Error('the order is one')
const transaction = newTransaction('sandbox', order, paymentScenario('withdrawal', 1909n), {
  now: start,
  delay_ms: 1000,
})

describe('callbacks that are not acknowledged', () => {
  test('are tried again later and later, and not for ever', () => {
    const delays: number[] = []
    let now = start
    let current = transaction
    while (current.callback_due_at !== undefined) {
      delays.push(current.callback_due_at.getTime() - now.getTime())
      now = current.callback_due_at
      current = afterTry(current, 0, now, 1)
    }
    expect(delays.map((delay_ms) => delay_ms / 1000)).toEqual([1, 1, 2, 4, 8, 16, 32, 60, 60, 60, 60, 60])
    expect(current.callbacks).toHaveLength(3)
  })

  test('begin anew with each that got through, and end with the last', () => {
    const failing = afterTry(afterTry(transaction, 0, start, 1), 0, start, 1)
    const moved = afterTry(failing, 1, start, 1)
    expect(moved).toMatchObject({ callbacks: ['verdict', 'pending'], callback_attempts: 1 })
    expect(moved.callback_due_at).toEqual(new Date(start.getTime() + 1000))
    const done = afterTry(moved, 2, start, 1)
    expect(done).toMatchObject({ callbacks: [], callback_attempts: 0 })
    expect(done).not.toHaveProperty('callback_due_at')
  })
})

test('what a merchant wrote about people is not kept', () => {
  expect(transaction).not.toHaveProperty('beneficiary')
})
