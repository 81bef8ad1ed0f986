import { randomUUID } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import type { Page } from 'playwright-core'
import type { TestBrowser, TestPage } from './browser.ts'
import type { Demo } from './merchant.ts'
import { operatorOf } from './operator.ts'

/** The console of a system in a real browser. */
export type TestConsole = ReturnType<typeof createTestConsole>

/** Opens pages of the console of a system. `demo` is called for every page, because a restart can change the ports. */
export function createTestConsole(browser: TestBrowser, demo: () => Demo) {
  /** Opens a page of the console without a session, by default at the address of the back office. */
  async function openConsole(path: string, baseURL = demo().backoffice_url): Promise<TestPage> {
    const opened = await browser.open({ baseURL })
    await opened.page.goto(path)
    return opened
  }
  return {
    openConsole,
    /** Opens the overview and signs in, by default as the demonstration, with every right. */
    async signIn(token: string = demo().operator.token, baseURL?: string): Promise<TestPage> {
      const opened = await openConsole('/overview', baseURL)
      await enter(opened.page, token, 'Overview')
      return opened
    },
    /** Makes a principal with a token. */
    async newToken(
      rights: readonly string[],
      merchantId = '',
    ): Promise<{ readonly principalId: string; readonly token: string }> {
      const { principal, token } = await operatorOf(demo())(
        'multihub.backoffice.v1.PrincipalService/CreatePrincipal',
        {
          name: `person with ${rights}`,
          kind: 'PRINCIPAL_KIND_PERSON',
          rights,
          merchantId,
          operationId: randomUUID(),
        },
      )
      return { principalId: principal.principalId, token }
    },
  }
}

/** Signs in, and waits for the page with this heading. */
export async function enter(page: Page, token: string, name: string): Promise<void> {
  await page.getByLabel('Token').fill(token)
  await page.keyboard.press('Enter')
  await heading(page, name)
}

/** Waits for the page with this heading. */
export function heading(page: Page, name: string | RegExp): Promise<void> {
  return page.getByRole('heading', { name, level: 1 }).waitFor()
}

/** Goes to another page as a link does, without loading the console again, and waits until it shows its content. */
export async function visit(page: Page, path: string, name: string | RegExp): Promise<void> {
  await page.evaluate(
    `history.pushState({}, '', ${JSON.stringify(path)}); dispatchEvent(new PopStateEvent('popstate'))`,
  )
  await heading(page, name)
  await page.getByText('Reading…').first().waitFor({ state: 'detached' })
}

/** With MULTIHUB_PICTURES=1 the test renews the pictures of the pages of documentation. */
export async function picture(page: Page, name: string): Promise<void> {
  if (process.env['MULTIHUB_PICTURES'] === '1')
    await page.screenshot({ path: `docs/operators/console-${name}.png` })
}

interface AxeViolation {
  readonly impact: string
  readonly id: string
  readonly nodes: readonly { readonly html: string }[]
}

/** The serious faults that axe finds on a page, each with the first element that has it; of contrast alone where wanted. */
export async function faultsOf(page: Page, only?: 'color-contrast'): Promise<readonly string[]> {
  if ((await page.evaluate('typeof axe')) === 'undefined') {
    const path = createRequire(import.meta.url).resolve('axe-core/axe.min.js')
    await page.evaluate(readFileSync(path, 'utf8'))
  }
  const rules = JSON.stringify({ resultTypes: ['violations'], ...(only && { runOnly: only }) })
  const { violations } = (await page.evaluate(`axe.run(${rules})`)) as { violations: readonly AxeViolation[] }
  return violations
    .filter(({ impact }) => impact === 'serious' || impact === 'critical')
    .map(({ id, nodes }) => `${id}: ${nodes[0]?.html}`)
}
