import { afterAll, beforeAll, expect, test as jestTest } from '@jest/globals'
import { startBrowser, type TestPage } from '../support/browser.ts'
import { type MerchantClient, merchantClient } from '../support/merchant.ts'
import { startOneProcess, type TestSystem } from '../support/system.ts'

const browser = await startBrowser()
const test = 'skip' in browser ? jestTest.skip : jestTest

let system: TestSystem
let alpha: MerchantClient

beforeAll(async () => {
  if ('skip' in browser) return
  system = await startOneProcess({ MULTIHUB_SCANNER: 'none' })
  alpha = merchantClient(system.demo)
})
afterAll(async () => {
  if ('skip' in browser) return
  await browser.close()
  await system?.end()
})

async function signIn(options = {}): Promise<TestPage> {
  if ('skip' in browser) throw new Error('there is no browser')
  const opened = await browser.open({ baseURL: system.demo().backoffice_url, ...options })
  const { page } = opened
  await page.goto('/overview')
  await page.getByLabel('Token').fill(system.demo().operator.token)
  await page.keyboard.press('Enter')
  await page.getByRole('heading', { name: 'Overview' }).waitFor()
  return opened
}

test('signs in, finds a payment and reads its timeline by the keyboard alone', async () => {
  const { c_id } = await alpha.deposit(12_300)
  await alpha.finalPayment(c_id)
  const { page, errors } = await signIn()
  await page.keyboard.press('/')
  await page.keyboard.type(c_id)
  await page.keyboard.press('Enter')
  await page.getByRole('heading', { name: 'Search' }).waitFor()
  await page.getByRole('row').nth(1).waitFor()
  await page.keyboard.press('j')
  await page.keyboard.press('Enter')
  await page.getByRole('heading', { name: 'Timeline' }).waitFor()
  expect(await page.getByRole('heading', { level: 1 }).textContent()).toContain('Deposit 123.00 INR')
  await page.keyboard.press('g')
  await page.keyboard.press('p')
  await page.getByRole('heading', { name: 'Payments', exact: true }).waitFor()
  await page.getByRole('row').nth(1).waitFor()
  expect(errors).toEqual([])
})
