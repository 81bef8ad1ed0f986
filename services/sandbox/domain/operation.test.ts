import { expect, test } from '@jest/globals'
import { newOperation } from './operation.ts'
import { parseOrder } from './order.ts'
import { paymentScenario } from './scenario.ts'

test('an operation does not contain personal data of its order', () => {
  const body = {
    kind: 'withdrawal',
    idempotency_key: 'k1',
    amount: 1909,
    currency: 'INR',
    method: 'imps',
    callback_url: 'http://127.0.0.1:1/',
    beneficiary: { account_id: '1' },
  }
  const order = parseOrder(Buffer.from(JSON.stringify(body)))
  if (order === undefined) throw new Error('the order is malformed')
  const scenario = paymentScenario('withdrawal', 1909n)
  const operation = newOperation('sandbox', order, scenario, {
    provider_id: '0190a0b0-0000-7000-8000-00000000000a',
    now: new Date(),
    delay_ms: 1000,
  })
  expect(operation).not.toHaveProperty('beneficiary')
})
