import { expect } from '@jest/globals'
import type { Page } from 'playwright-core'
import type { TestPage } from '../support/browser.ts'
import { faultsOf, type TestConsole, visit } from '../support/console.ts'
import { casesOf } from '../support/property-runs.ts'

/** What the dialogs are opened on: a paid deposit with a refund, a chargeback, and a ticket. */
interface DialogsFixture extends TestConsole {
  readonly merchant_id: string
  readonly h_id: string
  readonly ticketId: string
  readonly chargebackId: string
  readonly refundId: string
}

/** The pages with acts: how each is named, its address, its heading, and which of its acts a test opens. */
const PAGES: readonly (readonly [string, (ids: DialogsFixture) => string, string | RegExp, acts?: RegExp])[] =
  [
    ['the merchants', () => '/merchants', 'Merchants'],
    // It has so many that two tests share them.
    ['a merchant', ({ merchant_id }) => `/merchants/${merchant_id}`, /alpha/, /^[A-F]/],
    ['the parts of a merchant', ({ merchant_id }) => `/merchants/${merchant_id}`, /alpha/, /^[^A-F]/],
    ['a ticket', ({ ticketId }) => `/tickets/${ticketId}`, /Gamma/],
    ['a payment', ({ h_id }) => `/payments/${h_id}`, /Deposit/],
    ['a refund', ({ refundId }) => `/refunds?open=${refundId}`, 'Refunds'],
    ['a chargeback', ({ chargebackId }) => `/chargebacks?open=${chargebackId}`, 'Chargebacks'],
    ['approvals', () => '/approvals', 'Approvals'],
    ['deliveries', () => '/deliveries', 'Deliveries'],
    ['a provider account', () => '/providers?open=sandbox', 'Provider accounts'],
    ['people', () => '/people', 'People and programs'],
    ['verification', () => '/verification', 'Verification'],
  ]

/**
 * Every dialog of every page (elsewhere than in CI a part of them), and the page to sign in: no serious fault in both themes, and no
 * wider than a phone.
 */
export function dialogsSuite(
  test: (name: string, run: () => Promise<void>) => void,
  fixture: () => DialogsFixture,
): void {
  test('the page to sign in has no serious fault in light or dark colours', async () => {
    const { page } = await fixture().openConsole('/')
    await page.getByLabel('Token').waitFor()
    for (const colorScheme of ['light', 'dark'] as const) {
      await page.emulateMedia({ colorScheme })
      expect(await faultsOf(page)).toEqual([])
    }
  })

  // One page of the browser serves all of them.
  let shared: TestPage | undefined
  for (const [title, pathOf, name, own = /./] of PAGES)
    test(`no dialog of ${title} has a serious fault, or is wider than a phone`, async () => {
      shared ??= await fixture().signIn()
      const { page, errors } = shared
      await visit(page, pathOf(fixture()), name)
      const buttons = page.locator('main .acts button:visible')
      await buttons.first().waitFor()
      const acts = new Set((await buttons.allTextContents()).map((text) => text.trim()))
      // It also loads what the checks of the dialogs need.
      expect(await faultsOf(page, 'color-contrast')).toEqual([])
      for (const act of casesOf([...acts].filter((one) => own.test(one)))) {
        await buttons.filter({ hasText: act }).first().click()
        await page.getByRole('dialog').waitFor()
        expect([act, ...(await faultsInBoth(page))]).toEqual([act])
        await page.keyboard.press('Escape')
      }
      expect(errors).toEqual([])
    })
}

/** What is wrong with the dialog that is open: on a wide page in light colours, and on a phone in dark ones. */
async function faultsInBoth(page: Page): Promise<readonly string[]> {
  const light = await faultsIn(page)
  await page.setViewportSize({ width: 360, height: 800 })
  await page.emulateMedia({ colorScheme: 'dark' })
  const dark = await faultsIn(page, 'color-contrast')
  const excess = await page
    .getByRole('dialog')
    .evaluate(({ scrollWidth, clientWidth }) => scrollWidth - clientWidth)
  await page.setViewportSize({ width: 1280, height: 900 })
  await page.emulateMedia({ colorScheme: 'light' })
  return [...light, ...dark, ...(excess > 0 ? [`${excess} pixels too wide`] : [])]
}

/** The serious faults that axe finds in the dialog that is open. */
async function faultsIn(page: Page, only?: string): Promise<readonly string[]> {
  const rules = JSON.stringify({ resultTypes: ['violations'], ...(only && { runOnly: only }) })
  const { violations } = (await page.evaluate(`axe.run('dialog[open]', ${rules})`)) as {
    readonly violations: readonly { readonly impact: string; readonly id: string }[]
  }
  return violations.filter(({ impact }) => /serious|critical/.test(impact)).map(({ id }) => id)
}
