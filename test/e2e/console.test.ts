import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, expect, test as jestTest } from '@jest/globals'
import { startBrowser } from '../support/browser.ts'
import {
  createTestConsole,
  enter,
  faultsOf,
  heading,
  picture,
  type TestConsole,
  visit,
} from '../support/console.ts'
import { freePort } from '../support/free-port.ts'
import { type MerchantClient, merchantClient } from '../support/merchant.ts'
import { OPEN_ID_CLIENT, startOpenIdProvider, type TestOpenIdProvider } from '../support/open-id-provider.ts'
import { type Operator, operatorOf } from '../support/operator.ts'
import { casesOf } from '../support/property-runs.ts'
import { type Receiver, startReceiver } from '../support/receiver.ts'
import { startOneProcess, type TestSystem } from '../support/system.ts'
import { type ConsoleFixture, readingSuite } from './console-reading.suite.ts'
import { releaseSuite } from './console-release.suite.ts'

const browser = await startBrowser()
const test = 'skip' in browser ? jestTest.skip : jestTest

/** A script, a mark that turns the direction of text, and controls, as a merchant may write them. */
const HOSTILE = `<img src=x onerror="window.hacked=1">\u202Egnp.exe\u0007"'><script>window.hacked=1</script>{{7*7}}`
const FIRST_VIEW_MAX_BYTES = 200_000

let system: TestSystem
let alpha: MerchantClient
let operator: Operator
let receiver: Receiver
let c_id: string
let h_id: string
let ticketId: string
let refundId: string
let console_pages: TestConsole
let provider: TestOpenIdProvider

beforeAll(async () => {
  if ('skip' in browser) return
  let failures = 0
  receiver = await startReceiver(() => {
    failures += 1
    return { status: failures < 3 ? 500 : 200 }
  })
  const url = `http://127.0.0.1:${await freePort()}`
  provider = await startOpenIdProvider(`${url}/session/callback`)
  system = await startOneProcess({
    MULTIHUB_SCANNER: 'none',
    MULTIHUB_BACKOFFICE_PORT: new URL(url).port,
    MULTIHUB_BACKOFFICE_URL: url,
    MULTIHUB_OIDC_ISSUER: provider.issuer,
    MULTIHUB_OIDC_CLIENT_ID: OPEN_ID_CLIENT.id,
    MULTIHUB_OIDC_CLIENT_SECRET: OPEN_ID_CLIENT.secret,
    MULTIHUB_OIDC_SCOPES: 'openid profile groups',
    MULTIHUB_OIDC_GROUPS: '/support=support',
  })
  console_pages = createTestConsole(browser, system.demo)
  alpha = merchantClient(system.demo)
  operator = operatorOf(system.demo())
  c_id = `order-${randomUUID().slice(0, 8)}`
  await alpha.deposit(12_300, { c_id, webhook_url: receiver.url })
  h_id = (await alpha.finalPayment(c_id)).identifiers.h_id
  const ticket = await alpha.call({
    method: 'ticket.create',
    params: {
      identifiers: { c_id: randomUUID() },
      category: 'question',
      priority: 'low',
      title: HOSTILE,
      description: HOSTILE,
    },
  })
  ticketId = ticket.body.result.identifiers.h_id
  const refund = await alpha.call({
    method: 'refund.request',
    params: { identifiers: { c_id: randomUUID() }, payment: { c_id }, amount: '5000', reason: HOSTILE },
  })
  refundId = refund.body.result.identifiers.h_id
})
afterAll(async () => {
  if ('skip' in browser) return
  await browser.close()
  await system?.end()
  await receiver?.stop()
  await provider?.[Symbol.asyncDispose]()
})

const openConsole: TestConsole['openConsole'] = (...options) => console_pages.openConsole(...options)
const signIn: TestConsole['signIn'] = (...options) => console_pages.signIn(...options)
const newToken: TestConsole['newToken'] = (...options) => console_pages.newToken(...options)

// O13.2
test('signs in, finds a payment, reads its timeline and approves its refund by the keyboard alone', async () => {
  const { page, errors } = await signIn()
  await page.getByRole('rowheader').first().waitFor()
  await picture(page, 'overview')
  const press = async (...keys: readonly string[]): Promise<void> => {
    for (const key of keys) await page.keyboard.press(key)
  }
  await press('/')
  await page.keyboard.type(c_id)
  await press('Enter')
  await heading(page, 'Search')
  await page.getByRole('row').nth(1).waitFor()
  await press('j', 'Enter')
  await heading(page, /Deposit 123\.00 INR/)
  await page.getByText('Payment succeeded').waitFor()
  await page.getByText(/waits for the operator's decision/).waitFor()
  await picture(page, 'payment')
  await press('g', 'r')
  await heading(page, 'Refunds')
  await page.getByRole('row').nth(1).waitFor()
  await press('j', 'Enter')
  await page.getByRole('button', { name: 'Approve' }).waitFor()
  await press('e')
  await page.getByRole('dialog').getByText('50.00 INR is held').waitFor()
  await page.keyboard.type('customer asked')
  await press('Tab', 'Enter')
  await page.getByRole('status').getByText('Done').waitFor()
  await press('Enter')
  await page.locator('.detail .state', { hasText: 'completed' }).waitFor()
  await press('?')
  await page.getByRole('dialog', { name: 'Keys' }).waitFor()
  expect(errors).toEqual([])
})

const PAGES = [
  ['/overview', 'Overview'],
  ['/search?q=1', 'Search'],
  ['/payments?q=status:success,partially_refunded', 'Payments'],
  ['/refunds', 'Refunds'],
  ['/chargebacks', 'Chargebacks'],
  ['/tickets', 'Tickets'],
  ['/approvals', 'Approvals'],
  ['/anomalies', 'Anomalies'],
  ['/stuck', 'Stuck effects'],
  ['/deliveries', 'Deliveries'],
  ['/destinations', 'Destinations'],
  ['/balances?q=merchant:1001 env:test', 'Balances'],
  ['/merchants', 'Merchants'],
  ['/merchants/1001', /alpha/],
  ['/requests?q=merchant:1001', 'Requests'],
  ['/secrets', 'Secrets'],
  ['/providers', 'Provider accounts'],
  ['/verification', 'Verification'],
  ['/people', 'People and programs'],
  ['/audit', 'Audit'],
] as const

test('no page has a serious fault in light or dark colours, or is wider than a phone', async () => {
  const { page, errors } = await signIn()
  const pages = [
    [`/refunds?open=${refundId}`, 'Refunds'],
    ...PAGES,
    [`/tickets/${ticketId}`, /img src/],
    [`/payments/${h_id}`, /Deposit/],
  ] as const
  const examined = new Set<(typeof pages)[number]>(casesOf(pages))
  for (const one of pages) {
    const [path, name] = one
    await page.setViewportSize({ width: 360, height: 800 })
    await visit(page, path, name)
    expect([path, await page.evaluate('document.documentElement.scrollWidth <= 360')]).toEqual([path, true])
    if (!examined.has(one)) continue
    await page.emulateMedia({ colorScheme: 'dark' })
    expect([path, await faultsOf(page, 'color-contrast')]).toEqual([path, []])
    await page.emulateMedia({ colorScheme: 'light' })
    await page.setViewportSize({ width: 1440, height: 900 })
    expect([path, await faultsOf(page)]).toEqual([path, []])
  }
  expect(errors).toEqual([])
})

// O13.4
test('a revoked session is out, and shows nothing of what it had read', async () => {
  const { principalId, token } = await newToken(['read'])
  const { page } = await signIn(token)
  await page.goto('/payments')
  await page.getByText(c_id.slice(0, 8)).waitFor()
  await operator('multihub.backoffice.v1.PrincipalService/RevokePrincipal', { principalId, reason: 'left' })
  await page.getByLabel('Token').waitFor()
  expect(await page.textContent('body')).not.toContain(c_id.slice(0, 8))
})

test('a principal that may only read has no acts and no pages of administrators', async () => {
  const { token } = await newToken(['read'])
  const { page, errors } = await signIn(token)
  const navigation = await page.getByRole('navigation').textContent()
  expect(navigation).toContain('Payments')
  expect(navigation).not.toMatch(/People|Audit/)
  await page.goto(`/refunds?open=${refundId}`)
  await page.getByLabel('Details').getByText('50.00 INR').first().waitFor()
  expect(await page.getByRole('button', { name: /Approve|Reject|Cancel|Answer/ }).count()).toBe(0)
  expect(errors).toEqual([])
})

test('an act whose answer is lost is done once, also when its dialog is opened again', async () => {
  const { page } = await signIn()
  await page.goto(`/payments/${h_id}`)
  const before = await alpha.available()
  let lost = 0
  await page.route('**/*BalanceService/Adjust', async (route) => {
    // The server may close a connection that is kept; the act has its operation id, so it is done once.
    const response = await route.fetch({ maxRetries: 2 })
    lost += 1
    if (lost === 1) await route.abort()
    else await route.fulfill({ response })
  })
  const dialog = page.getByRole('dialog')
  const send = dialog.getByRole('button', { name: 'Adjust balance' })
  const write = async (amount: string): Promise<void> => {
    await dialog.waitFor({ state: 'detached' })
    await page.getByRole('button', { name: 'Adjust balance' }).click()
    await page.getByLabel(/Amount/).fill(amount)
    await page.getByLabel(/Reason/).fill('fee returned')
  }
  await write('7,50')
  await send.click()
  await dialog.getByText('a comma that does not separate three digits').waitFor()
  await page.keyboard.press('Escape')
  await write('7.50')
  await dialog.getByText(': 7.50 INR').waitFor()
  await send.click()
  await page.getByText('A repeated act is done once.').waitFor()
  await page.keyboard.press('Escape')
  await write('7.50')
  await send.click()
  await page.getByRole('status').getByText('Done').waitFor()
  await page.getByText('Both together are done once.').waitFor()
  expect([lost, (await alpha.available()) - before]).toEqual([2, 750])
})

test('what identifies a person is shown after a reason, until the page is left, and audited once', async () => {
  const { page, errors } = await signIn()
  await visit(page, `/payments/${h_id}`, /Deposit/)
  const person = page.getByText('customer@example.com')
  await page.getByText('****.com').waitFor()
  await page.getByRole('button', { name: 'Reveal' }).click()
  await page.getByLabel(/Reason/).fill('the customer asked — "wo?"')
  await page.getByRole('dialog').getByRole('button', { name: 'Reveal' }).click()
  await page.getByRole('button', { name: 'Close' }).click()
  await person.waitFor()
  await visit(page, '/payments', 'Payments')
  await visit(page, `/payments/${h_id}`, /Deposit/)
  await page.getByText('****.com').waitFor()
  expect(await person.count()).toBe(0)
  const { entries } = await operator('multihub.backoffice.v1.AuditService/ListAuditEntries', {
    rpc: 'multihub.backoffice.v1.TimelineService/GetTimeline',
  })
  expect(entries.map(({ reason }: { reason: string }) => reason)).toEqual(['the customer asked — "wo?"'])
  expect(errors).toEqual([])
})

// O13.3
test('a page of another release loads itself again until its files are there', async () => {
  if ('skip' in browser) return
  const { page } = await browser.open({ baseURL: system.demo().backoffice_url })
  let missing = 0
  await page.route('**/assets/main-*.js', async (route) => {
    missing += 1
    if (missing < 3) await route.fulfill({ status: 404, body: 'Not Found' })
    else await route.continue()
  })
  await page.goto('/')
  await page.getByLabel('Token').waitFor()
  expect(missing).toBe(3)
})

test('the first view weighs at most 200 kB, and asks no other host', async () => {
  if ('skip' in browser) return
  const { page } = await browser.open({ baseURL: system.demo().backoffice_url })
  const own = new URL(system.demo().backoffice_url).host
  const sizes: Promise<number>[] = []
  const hosts = new Set<string>()
  page.on('requestfinished', (request) => {
    hosts.add(new URL(request.url()).host)
    sizes.push(request.sizes().then(({ responseBodySize }) => responseBodySize))
  })
  await page.goto('/overview')
  await page.getByLabel('Token').fill(system.demo().operator.token)
  await page.keyboard.press('Enter')
  await heading(page, 'Overview')
  const total = (await Promise.all(sizes)).reduce((sum, size) => sum + size, 0)
  expect(total).toBeLessThan(FIRST_VIEW_MAX_BYTES)
  expect([...hosts]).toEqual([own])
})

test('a principal of a merchant begins with its payments, and no page of its own is refused', async () => {
  const { token } = await newToken(['read'], alpha.merchant.merchant_id)
  const { page, errors } = await openConsole('/')
  await enter(page, token, 'Payments')
  await page.getByText(c_id).waitFor()
  for (const name of ['Refunds', 'Chargebacks', 'Tickets', 'Deliveries', 'Requests', 'Secrets', 'Balances']) {
    await page.getByRole('navigation').getByText(name).click()
    await heading(page, name)
    await page.getByText('Reading…').first().waitFor({ state: 'detached' })
    expect([name, await page.getByRole('alert').allTextContents()]).toEqual([name, []])
  }
  await visit(page, `/payments/${h_id}`, /Deposit/)
  expect(await page.getByRole('navigation').textContent()).not.toMatch(/Overview|Anomalies|Providers/)
  expect(errors).toEqual([])
})

const fixture = (): ConsoleFixture => ({
  ...console_pages,
  alpha,
  operator,
  provider,
  url: system.demo().backoffice_url,
  token: system.demo().operator.token,
  c_id,
  h_id,
})
readingSuite(test, fixture)
releaseSuite(test, fixture)

// It comes last: while there is a policy, other acts need a second person too.
test('an act above a policy waits for a second person, and says so with its approval', async () => {
  await operator('multihub.backoffice.v1.ApprovalService/SetApprovalPolicy', {
    rpc: 'multihub.balances.v1.BalanceService/Adjust',
    currency: 'INR',
    aboveMinor: '100000',
  })
  const { page } = await signIn()
  const before = await alpha.available()
  await visit(page, `/payments/${h_id}`, /Deposit/)
  await page.getByRole('button', { name: 'Adjust balance' }).click()
  await page.getByLabel(/Amount/).fill('2,000')
  await page.getByLabel(/Reason/).fill('fee returned')
  await page.getByRole('dialog').getByRole('button', { name: 'Adjust balance' }).click()
  await page.getByRole('alert').getByText('A second person must approve this').waitFor()
  await page.getByRole('link', { name: 'Show the approval.' }).click()
  await heading(page, 'Approvals')
  await page.getByLabel('Details').getByText('2,000.00 INR').waitFor()
  expect((await alpha.available()) - before).toBe(0)
})
