import { expect } from '@jest/globals'
import type { CreateResponse, PaymentOptions } from '../support/merchant.ts'
import type { SystemUnderTest } from './system.suite.ts'

/** The final sandbox outcomes that do not wait for the create: the last digits of the amount, and the status and error. */
const OUTCOMES = [
  { digits: 0, status: 'success', error: null },
  { digits: 901, status: 'error', error: 6044 },
  { digits: 902, status: 'error', error: 6044 },
  { digits: 904, status: 'success', error: null },
  { digits: 906, status: 'canceled', error: 'of the direction' },
  { digits: 907, status: 'error', error: 7001 },
  { digits: 908, status: 'success', error: null },
  { digits: 909, status: 'success', error: null },
  { digits: 910, status: 'success', error: null },
  { digits: 911, status: 'success', error: null },
  { digits: 912, status: 'success', error: null },
  { digits: 913, status: 'success', error: null },
  { digits: 914, status: 'success', error: null },
  { digits: 915, status: 'success', error: null },
] as const

const EVENT_OF = {
  success: 'payment.completed',
  error: 'payment.failed',
  canceled: 'payment.cancelled',
} as const

/**
 * Creates one payment per sandbox outcome at once, and checks the status, the error and the event of each. Returns the sum
 * of those that succeeded.
 */
export async function payEveryOutcome(
  { alpha, receiver }: SystemUnderTest,
  create: (value: number, options: PaymentOptions) => Promise<CreateResponse>,
  canceled_error: number,
): Promise<number> {
  const payments = await Promise.all(
    OUTCOMES.map(async (outcome, index) => {
      const value = 1_000_000 + index * 1_000 + outcome.digits
      const { c_id, http_status } = await create(value, { webhook_url: receiver.url })
      expect(http_status).toBe(200)
      const error = outcome.status === 'canceled' ? canceled_error : outcome.error
      return { ...outcome, error, value, c_id }
    }),
  )
  let paid = 0
  for (const { c_id, status, error, value, digits } of payments) {
    const payment = await alpha.finalPayment(c_id)
    expect({ digits, ...payment.status }).toMatchObject({ digits, status, error, final: true })
    const { body } = await receiver.waitFor(c_id, EVENT_OF[status])
    expect(body.data.result.payment.amount).toEqual({ value, currency: 'INR' })
    if (status === 'success') paid += value
  }
  return paid
}
