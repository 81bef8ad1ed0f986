import {
  type Browser,
  type BrowserContext,
  type BrowserContextOptions,
  chromium,
  type Page,
} from 'playwright-core'
import { findProgram } from './programs.ts'
import { type Skip, skipWithout } from './skip.ts'

/** A page in a browser context of its own, and everything that its console reported as an error. */
export interface TestPage {
  readonly page: Page
  readonly errors: readonly string[]
}

/** A real browser without a window. Opening a page closes older ones but the latest few. */
export interface TestBrowser {
  open(options?: BrowserContextOptions): Promise<TestPage>
  close(): Promise<void>
}

/**
 * How many pages stay open. A page whose test has ended goes on asking and drawing, which takes more than the tests, and no
 * test uses more pages at once.
 */
const OPEN_MAX = 3

/** Starts Debian's Chromium. Says why when it is not installed; with MULTIHUB_CI=1 it throws instead. */
export async function startBrowser(): Promise<TestBrowser | Skip> {
  const executablePath = findProgram('chromium')
  if (executablePath === undefined)
    return skipWithout('chromium is not installed; scripts/servers/install does that')
  // Containers seldom permit the sandbox, and the pages are ours.
  const browser: Browser = await chromium.launch({ executablePath, args: ['--no-sandbox', '--disable-gpu'] })
  const contexts: BrowserContext[] = []
  return {
    async open(options = {}) {
      const context = await browser.newContext({ locale: 'en-GB', timezoneId: 'UTC', ...options })
      contexts.push(context)
      if (contexts.length > OPEN_MAX) await contexts.shift()?.close()
      const page = await context.newPage()
      page.setDefaultTimeout(15_000)
      const errors: string[] = []
      page.on('console', (message) => {
        if (message.type() === 'error') errors.push(message.text())
      })
      page.on('pageerror', (error) => errors.push(String(error)))
      return { page, errors }
    },
    close: () => browser.close(),
  }
}
