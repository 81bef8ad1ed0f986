import type { BrowserContextOptions, Page } from 'playwright-core'
import { clock } from '#lib/base/time.ts'
import { startBrowser, type TestBrowser } from '../test/support/browser.ts'
import { cpuTime } from '../test/support/process-use.ts'
import { withStoredPayments } from './payment/stored-system.ts'
import type { BenchResult } from './result.ts'
import { printProgress } from './rounds.ts'
import type { BenchSystem } from './system.ts'

const STORED = 1_000_000
const VIEWS = 10
const WARM_UP_VIEWS = 2
/** How often a list is continued: to row 1,050. */
const CONTINUATIONS = 20

/**
 * The console in Chromium against the whole system in one process with 1,000,000 stored payments: the first view of a page in a
 * browser that has no file of it yet, from the address to the content, and a list that is continued.
 */
export async function run(): Promise<BenchResult[]> {
  const browser = await startBrowser()
  if ('skip' in browser) throw new Error(browser.skip)
  try {
    return await withStoredPayments(STORED, (system) => measure(browser, system))
  } finally {
    await browser.close()
  }
}

async function measure(browser: TestBrowser, system: BenchSystem): Promise<BenchResult[]> {
  const options = await signIn(browser, system)
  const views = ['/overview', '/payments', `/payments?q=status:success merchant:${merchantOf(system)}`]
  const results: BenchResult[] = []
  for (const path of views) {
    printProgress(path)
    const times_ms: number[] = []
    let cpu_ms = 0
    for (let view = -WARM_UP_VIEWS; view < VIEWS; view += 1) {
      const { page } = await browser.open(options)
      const [cpu_before_ms, started_ms] = [cpuTime(system.pid), clock.monotonic_ms()]
      await page.goto(path)
      await page.getByRole('row').nth(1).waitFor()
      if (view >= 0) times_ms.push(clock.monotonic_ms() - started_ms)
      if (view >= 0) cpu_ms += cpuTime(system.pid) - cpu_before_ms
      await page.context().close()
    }
    times_ms.sort((a, b) => a - b)
    const name = `first view of ${path.split('?')[0]}${path.includes('?') ? ' with filters' : ''} with 10^6 payments`
    results.push(
      { name: `${name}, p50`, ours: times_ms[VIEWS / 2] ?? 0, unit: 'ms', goal: { at_most: 1_000 } },
      { name: `${name}, the slowest of ${VIEWS}`, ours: times_ms.at(-1) ?? 0, unit: 'ms' },
      { name: `${name}, processor time of the system`, ours: cpu_ms / VIEWS, unit: 'ms' },
    )
  }
  const { page } = await browser.open(options)
  return [...results, ...(await continueList(page))]
}

/** A session of the demonstration, as a browser keeps it, without any file of the console. */
async function signIn(browser: TestBrowser, { demo }: BenchSystem): Promise<BrowserContextOptions> {
  const baseURL = demo.backoffice_url
  const { page } = await browser.open({ baseURL })
  await page.goto('/')
  await page.getByLabel('Token').fill(demo.operator.token)
  await page.keyboard.press('Enter')
  await page.getByRole('navigation').waitFor()
  const storageState = await page.context().storageState()
  await page.context().close()
  return { baseURL, storageState }
}

function merchantOf({ demo }: BenchSystem): string {
  return demo.merchants.find(({ name }) => name === 'alpha')?.merchant_id ?? ''
}

/** Continues a list, 50 rows at a time, and compares the last continuation with the first. */
async function continueList(page: Page): Promise<BenchResult[]> {
  printProgress('a list that is continued')
  await page.goto('/payments')
  const times_ms: number[] = []
  for (let count = 1; count <= CONTINUATIONS; count += 1) {
    const started_ms = clock.monotonic_ms()
    await page.getByRole('button', { name: '50 more' }).click()
    const shown = count < CONTINUATIONS ? `${50 * (count + 1)} shown` : '51 to 1,050'
    await page.getByText(shown).waitFor()
    times_ms.push(clock.monotonic_ms() - started_ms)
  }
  return [
    { name: 'the first 50 more rows of a list', ours: times_ms[0] ?? 0, unit: 'ms' },
    { name: `50 more rows after ${50 * CONTINUATIONS}`, ours: times_ms.at(-1) ?? 0, unit: 'ms' },
  ]
}
