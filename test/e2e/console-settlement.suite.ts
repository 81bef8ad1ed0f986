import { expect } from '@jest/globals'
import type { TestConsole } from '../support/console.ts'
import { visit } from '../support/console.ts'
import type { MerchantClient } from '../support/merchant.ts'
import type { Operator } from '../support/operator.ts'
import type { DeclareTest } from './console-reading.suite.ts'

interface SettlementFixture extends TestConsole {
  readonly alpha: MerchantClient
  readonly operator: Operator
}

/** A settlement is read before it is made, and only what was read is done. */
export function settlementSuite(test: DeclareTest, fixture: () => SettlementFixture): void {
  // P14
  test('a settlement is shown first, shown again when a payout came in between, and done once when its answer is lost', async () => {
    const { alpha, operator, signIn } = fixture()
    const { merchant_id: merchantId } = alpha.merchant
    const settlements = async (): Promise<number> => {
      const { entries = [] } = await operator('multihub.balances.v1.BalanceService/ListEntries', {
        merchantId,
        environment: 'ENVIRONMENT_TEST',
        kind: 'LEDGER_ENTRY_KIND_SETTLEMENT',
      })
      return entries.length
    }
    const payOut = async (): Promise<void> => {
      const { c_id } = await alpha.withdraw(2_000)
      await alpha.finalPayment(c_id)
    }
    await payOut()
    const before = await settlements()
    const { page } = await signIn()
    await visit(page, `/merchants/${merchantId}`, 'alpha')
    const account = page.locator('details').filter({ has: page.locator('summary', { hasText: /^INR$/ }) })
    await account.first().evaluate((details) => details.setAttribute('open', ''))
    await account.first().getByRole('button', { name: 'Settle' }).click()
    const dialog = page.getByRole('dialog')
    await dialog.getByLabel(/Reason/).fill('paid by bank transfer')
    await dialog.getByRole('button', { name: 'Show what it would end' }).click()
    await dialog.getByText(/Settlement period \d+ would begin/).waitFor()
    const total = () => dialog.getByText(/of payouts would count no more/).textContent()
    const first = await total()
    expect(await settlements()).toBe(before)

    const settle = dialog.getByRole('button', { name: 'Settle' })
    expect(await settle.isDisabled()).toBe(true)
    await payOut()
    await dialog.getByLabel('to confirm').fill('INR')
    await settle.click()
    await dialog.getByText('It has changed since you read it.').waitFor()
    expect([await settlements(), await settle.isDisabled(), (await total()) === first]).toEqual([
      before,
      true,
      false,
    ])

    let calls = 0
    await page.route('**/*BalanceService/Settle', async (route) => {
      calls += 1
      const response = await route.fetch({ maxRetries: 2 })
      if (calls === 1) await route.abort()
      else await route.fulfill({ response })
    })
    await dialog.getByLabel('to confirm').fill('INR')
    await settle.click()
    await dialog.getByText('A repeated act is done once.').waitFor()
    await settle.click()
    await dialog.getByText(/Settlement period \d+ has begun/).waitFor()
    await dialog.getByText('Both together are done once.').waitFor()
    expect([calls, (await settlements()) - before]).toEqual([2, 1])
  })
}
