import { randomUUID } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { expect } from '@jest/globals'
import type { Page } from 'playwright-core'
import { heading, type TestConsole, visit } from '../support/console.ts'
import type { MerchantClient } from '../support/merchant.ts'
import type { TestOpenIdProvider } from '../support/open-id-provider.ts'
import type { Operator } from '../support/operator.ts'

/** Declares a test, or one that is skipped where there is no browser. */
export type DeclareTest = (name: string, run: () => Promise<void>) => void

/** What the tests of the console share: one system, with a paid deposit whose callbacks first failed twice. */
export interface ConsoleFixture extends TestConsole {
  readonly alpha: MerchantClient
  readonly operator: Operator
  readonly provider: TestOpenIdProvider
  /** The address of the back office, and the token of the demonstration. */
  readonly url: string
  readonly token: string
  readonly c_id: string
  readonly h_id: string
}

/** The pages that are read: lists, the overview, a payment, balances, and the zones of their times. */
export function readingSuite(test: DeclareTest, fixture: () => ConsoleFixture): void {
  test('a list keeps filters and columns in this browser, and says how long it is as a whole', async () => {
    const { signIn } = fixture()
    const { page, errors } = await signIn()
    await visit(page, '/refunds?q=status:pending,completed,approved', 'Refunds')
    await page.getByRole('button', { name: 'Save filters' }).click()
    await page.getByLabel('Name').fill('live refunds')
    await page.keyboard.press('Enter')
    const saved = page.getByRole('list', { name: 'Saved filters' })
    await saved.getByRole('link', { name: 'live refunds' }).waitFor()
    await page.getByText('Columns', { exact: true }).click()
    await page.getByRole('checkbox', { name: 'reason', exact: true }).uncheck()
    await page.getByRole('checkbox', { name: 'payment h_id' }).check()
    await page.reload()
    await page.getByRole('columnheader', { name: 'payment h_id' }).waitFor()
    expect(await page.getByRole('columnheader', { name: 'reason', exact: true }).count()).toBe(0)
    await visit(page, '/refunds?q=status:rejected', 'Refunds')
    await saved.getByRole('link', { name: 'live refunds' }).click()
    await page.getByText(/^\d+ in all$/).waitFor()
    await saved.getByRole('button', { name: 'Forget the filters live refunds' }).click()
    await page.getByRole('button', { name: 'Save filters' }).waitFor()
    expect(errors).toEqual([])
  })

  // O13.5
  test('a CSV file has all rows that the filters select, and no cell that a spreadsheet executes', async () => {
    const { signIn, alpha } = fixture()
    const title = '=HYPERLINK("http://evil.example","open")'
    await alpha.call({
      method: 'ticket.create',
      params: {
        identifiers: { c_id: randomUUID() },
        category: 'question',
        priority: 'low',
        title,
        description: title,
      },
    })
    const { page, errors } = await signIn()
    await visit(page, '/tickets?q=status:open', 'Tickets')
    const [download] = await Promise.all([
      page.waitForEvent('download'),
      page.getByRole('button', { name: 'CSV' }).click(),
    ])
    const text = await readFile(await download.path(), 'utf8')
    const lines = text.trimEnd().split('\r\n')
    const shown = Number((await page.getByText(/ in all$/).textContent())?.split(' ')[0])
    expect([download.suggestedFilename(), lines.length]).toEqual(['tickets.csv', shown + 1])
    expect(lines[0]).toMatch(/^\u{feff}?ticket_id,title,/u)
    expect(text).toContain(`"'=HYPERLINK(""http://evil.example"",""open"")"`)
    await page.getByRole('status').getByText(`${shown} rows written`).waitFor()
    expect(errors).toEqual([])
  })

  test('the overview shows how payments go by route and provider, and each number leads to a list that answers', async () => {
    const { signIn } = fixture()
    const { page, errors } = await signIn()
    await page.getByRole('img', { name: /^Last 60 minutes: \d+ created/ }).waitFor()
    await page.getByRole('cell', { name: /^deposit upi INR of 1001/ }).waitFor()
    await page.getByRole('table', { name: 'By provider' }).getByText('sandbox').waitFor()
    const links = await page
      .getByRole('rowheader')
      .getByRole('link')
      .evaluateAll((all) => all.map((link) => link.getAttribute('href') ?? ''))
    expect(links.length).toBe(11)
    const cut = await page
      .locator('.columns .scroll')
      .evaluateAll((tables) => tables.filter((table) => table.scrollWidth > table.clientWidth).length)
    expect(cut).toBe(0)
    for (const path of links) {
      await visit(page, path, /./)
      expect([path, await page.getByRole('alert').allTextContents()]).toEqual([path, []])
    }
    expect(errors).toEqual([])
  })

  test('a payment shows its attempts, what the ledger had before and after, and its callbacks with their bodies', async () => {
    const { signIn, operator, h_id } = fixture()
    const { page, errors } = await signIn()
    await visit(page, `/payments/${h_id}`, /Deposit/)
    await page
      .getByText(/HTTP 200 after/)
      .first()
      .waitFor()
    const entry = page.locator('.entry').first()
    const [before, after] = ((await entry.locator('.range').textContent()) ?? '').split(' → ').map(minorOf)
    expect(Number(after) - Number(before)).toBe(12_300)
    expect(await entry.textContent()).toContain('+123.00 INR')
    const strip = page.getByRole('img', { name: /tries, \d+ arrived/ })
    const failed = await strip.evaluateAll(
      (strips) => strips.flatMap((one) => [...one.querySelectorAll('.bad')]).length,
    )
    expect(failed).toBe(2)
    await page.locator('.callback summary').first().click()
    await page.getByRole('button', { name: 'Show body' }).first().click()
    await page.getByLabel(/Reason/).fill('the merchant asked')
    await page.getByRole('dialog').getByRole('button', { name: 'Show body' }).click()
    await page.getByText('"c_id"').first().waitFor()
    const { entries } = await operator('multihub.backoffice.v1.AuditService/ListAuditEntries', {
      rpc: 'multihub.notifier.v1.DeliveryService/GetDelivery',
    })
    expect(entries.map(({ reason }: { reason: string }) => reason)).toEqual(['the merchant asked'])
    expect(errors).toEqual([])
  })

  test('balances have 30 days, deliveries and destinations their tries, and a merchant what production needs', async () => {
    const { signIn, alpha } = fixture()
    const { merchant_id } = alpha.merchant
    const { page, errors } = await signIn()
    await visit(page, `/balances?q=merchant:${merchant_id} env:test currency:INR`, 'Balances')
    await page.getByRole('img', { name: /^INR, available in the last 30 days/ }).waitFor()
    await page.getByRole('row').last().click()
    await page.getByLabel('Details').getByText('available after').waitFor()
    await visit(page, `/deliveries?q=merchant:${merchant_id}`, 'Deliveries')
    await page
      .getByRole('img', { name: /tries, \d+ arrived/ })
      .first()
      .waitFor()
    await visit(page, '/destinations', 'Destinations')
    await page.getByRole('row').nth(1).getByRole('link').first().click()
    await page.getByText(/half within \d+ ms/).waitFor()
    await visit(page, `/merchants/${merchant_id}`, 'alpha')
    await page.getByRole('heading', { name: /Ready for production: \d+ missing/ }).waitFor()
    await page.getByText('it may use production').waitFor()
    expect(errors).toEqual([])
  })

  test('times are read in the zone of this browser, in UTC, or in the zone of the merchant', async () => {
    const { signIn, h_id } = fixture()
    const { page } = await signIn()
    await visit(page, `/payments/${h_id}`, /Deposit/)
    const shown = (): Promise<string | null> => page.locator('.head time').textContent()
    const in_utc = await shown()
    await page.getByLabel('Time zone').selectOption('merchant')
    const instant = await page.locator('.head time').getAttribute('datetime')
    const there = new Date(new Date(instant ?? '').getTime() + 5.5 * 3_600_000).toISOString()
    await page.locator('.head time').getByText(there.slice(0, 19).replace('T', ' ')).waitFor()
    await page.getByLabel('Time zone').selectOption('UTC')
    expect(await shown()).toBe(in_utc)
  })

  test('no page is wider than its screen, from a phone to 3840 pixels', async () => {
    const { signIn, h_id } = fixture()
    const { page, errors } = await signIn()
    for (const [path, name] of [
      ['/overview', 'Overview'],
      [`/payments/${h_id}`, /Deposit/],
      ['/balances?q=merchant:1001 env:test', 'Balances'],
      ['/secrets', 'Secrets'],
    ] as const)
      for (const width of [360, 3_840]) {
        await page.setViewportSize({ width, height: 1_000 })
        await visit(page, path, name)
        expect([path, width, await isWithin(page, width)]).toEqual([path, width, true])
      }
    await heading(page, 'Secrets')
    expect(errors).toEqual([])
  })
}

const minorOf = (text: string): number => Number(text.replace(/[^\d-]/g, ''))

const isWithin = (page: Page, width: number): Promise<boolean> =>
  page.evaluate(`document.documentElement.scrollWidth <= ${width}`)
