import { expect, test } from '@jest/globals'
import { now } from '#lib/base/time.ts'
import type { Environment } from '#lib/contract/environment.ts'
import { PublicError } from '#lib/contract/errors/public-error.ts'
import { newChargeback, withStatus } from '../domain/chargeback.ts'
import { bindReturnAmount } from './return-amount.ts'

const DAY_MS = 86_400_000

/** Runs the effect of a chargeback that was opened some days ago, while payments refuses it with a code. */
async function returnRefused(environment: Environment, days: number, code: 12001 | 6010): Promise<void> {
  const created_at = new Date(now().getTime() - days * DAY_MS)
  const opened = newChargeback({
    chargeback_id: 'cb-1',
    merchant_id: '1001',
    environment,
    payment: { payment_id: 'p-1', c_id: 'c-1', h_id: 'h-1' },
    amount: 900n,
    currency: 'INR',
    reason_code: '10.4',
    created_at,
  })
  const won = withStatus(opened, { status: 'won', at: now(), note: '' })
  const effect = won.effects.find(({ kind }) => kind === 'return_amount')
  if (!effect) throw new Error('a won chargeback has no effect that returns its amount')
  const payments = { returnChargeback: () => Promise.reject(new PublicError(code)) }
  await bindReturnAmount(payments).run(effect, { ...won, version: 1 })
}

// O25
test('only a payment of the test environment that may have been deleted is not credited', async () => {
  await returnRefused('test', 8, 12001)
  await expect(returnRefused('test', 6, 12001)).rejects.toMatchObject({ code: 12001 })
  await expect(returnRefused('test', 8, 6010)).rejects.toMatchObject({ code: 6010 })
  await expect(returnRefused('production', 4_000, 12001)).rejects.toMatchObject({ code: 12001 })
})
