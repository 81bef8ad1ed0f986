import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, expect, test as jestTest } from '@jest/globals'
import type { Locator, Page } from 'playwright-core'
import { startBrowser } from '../support/browser.ts'
import { createTestConsole, enter, heading, type TestConsole, visit } from '../support/console.ts'
import { eventually } from '../support/eventually.ts'
import { type MerchantClient, merchantClient } from '../support/merchant.ts'
import { type Operator, operatorOf } from '../support/operator.ts'
import { send } from '../support/public-client.ts'
import { type Receiver, startReceiver } from '../support/receiver.ts'
import { PATHS, signV1 } from '../support/sign-request.ts'
import { type SystemHere, startHere } from '../support/system.ts'
import { dialogsSuite } from './console-dialogs.suite.ts'
import { HOSTILE_RESPONSE, hostileSuite } from './console-hostile.suite.ts'
import { liveSuite } from './console-live.suite.ts'
import { settlementSuite } from './console-settlement.suite.ts'

const browser = await startBrowser()
const test = 'skip' in browser ? jestTest.skip : jestTest

/** A name with a script and a mark that turns the direction of text. */
const HOSTILE_NAME = `Gamma <img src=x onerror="window.hacked=1">\u202Egpj.exe "'><script>window.hacked=1</script>`

let system: SystemHere
let pages: TestConsole
let alpha: MerchantClient
let operator: Operator
let receiver: Receiver
let is_receiver_down = true
let h_id: string
let ticketId: string
let chargebackId: string
let refundId: string

beforeAll(async () => {
  if ('skip' in browser) return
  receiver = await startReceiver(() => ({ status: is_receiver_down ? 500 : 200, body: HOSTILE_RESPONSE }))
  system = await startHere({ MULTIHUB_SCANNER: 'none' })
  pages = createTestConsole(browser, system.demo)
  alpha = merchantClient(system.demo)
  operator = operatorOf(system.demo())
  // Its callback is dead after two tries.
  await operator('multihub.merchants.v1.EndpointService/CreateEndpoint', {
    merchantId: alpha.merchant.merchant_id,
    environment: 'ENVIRONMENT_TEST',
    url: receiver.url,
    events: ['payment.completed'],
    maxRetries: 1,
  })
  const { c_id } = await alpha.deposit(12_300)
  h_id = (await alpha.finalPayment(c_id)).identifiers.h_id
  await eventually(deadDeliveries, (dead) => dead === 1)
  is_receiver_down = false
  const params = { category: 'question', priority: 'low', title: HOSTILE_NAME, description: HOSTILE_NAME }
  const ticket = await alpha.call({
    method: 'ticket.create',
    params: { identifiers: { c_id: randomUUID() }, ...params },
  })
  ticketId = ticket.body.result.identifiers.h_id
  const refund = await alpha.call({
    method: 'refund.request',
    params: { identifiers: { c_id: randomUUID() }, payment: { c_id }, amount: '100', reason: HOSTILE_NAME },
  })
  refundId = refund.body.result.identifiers.h_id
  const { chargeback } = await operator('multihub.support.v1.ChargebackService/OpenChargeback', {
    paymentId: h_id,
    amount: { minor: '500', currency: 'INR' },
    reasonCode: '13.1',
  })
  chargebackId = chargeback.chargebackId
})
afterAll(async () => {
  if ('skip' in browser) return
  await browser.close()
  await system?.end()
  await receiver?.stop()
})

async function deadDeliveries(): Promise<number> {
  const filter = { merchantId: alpha.merchant.merchant_id, status: 'DELIVERY_STATUS_DEAD' }
  const { deliveries = [] } = await operator('multihub.notifier.v1.DeliveryService/ListDeliveries', filter)
  return deliveries.length
}

const dialogOf = (page: Page): Locator => page.getByRole('dialog')

/** Presses Tab until what has the focus has this label or text. */
async function tabTo(page: Page, name: string): Promise<void> {
  const focused =
    '(({ labels, textContent }) => labels?.[0]?.textContent || textContent)(document.activeElement).trim()'
  for (let presses = 0; presses < 60; presses += 1) {
    await page.keyboard.press('Tab')
    if (String(await page.evaluate(focused)).startsWith(name)) return
  }
  throw new Error(`Tab does not lead to ${name}`)
}

/** Reads the secret that a dialog shows, and closes it by the keyboard. */
async function keepSecret(page: Page): Promise<string> {
  await page.getByText('It is shown once').waitFor()
  const secret = (await dialogOf(page).locator('code').textContent()) ?? ''
  // A browser would close it at the second Escape.
  await page.keyboard.press('Escape')
  await page.keyboard.press('Escape')
  expect(await dialogOf(page).getByText(secret).count()).toBe(1)
  await tabTo(page, 'I have kept it')
  await page.keyboard.press('Enter')
  await dialogOf(page).waitFor({ state: 'detached' })
  expect(await page.content()).not.toContain(secret)
  return secret
}

const setupOf = async (service: string, merchantId: string) =>
  operator(`multihub.merchants.v1.${service}`, { merchantId })

test('a merchant is set up by the keyboard alone, and its first deposit succeeds', async () => {
  const { page, errors } = await pages.signIn()
  const { keyboard } = page
  const press = async (...keys: readonly string[]): Promise<void> => {
    for (const key of keys) await keyboard.press(key)
  }
  await press('g', 'm')
  await heading(page, 'Merchants')
  await press('n', 'm')
  await dialogOf(page).waitFor()
  await keyboard.insertText(HOSTILE_NAME)
  await press('Tab')
  await keyboard.type('Asia/Kolkata')
  await tabTo(page, 'New merchant')
  await press('Enter')
  await page.getByRole('button', { name: 'Show it' }).waitFor()
  await press('Enter')
  await heading(page, /Gamma <img/)
  const merchant_id = page.url().split('/').at(-1) ?? ''

  await press('n', 'c')
  await tabTo(page, 'API version')
  await press('ArrowDown')
  await tabTo(page, 'New credential')
  await press('Enter')
  const secret = await keepSecret(page)

  await press('n', 'r')
  for (const field of ['Direction', 'Method', 'Currency']) {
    await tabTo(page, field)
    await press('ArrowDown')
  }
  await page.getByRole('button', { name: '+ sandbox', exact: true }).waitFor()
  await tabTo(page, '+ sandbox')
  await press('Enter')
  await tabTo(page, 'New route')
  await press('Enter')
  await page.getByText(/Route \d+ takes payments/).waitFor()
  await press('Enter')

  await press('n', 'e')
  await tabTo(page, 'URL')
  await keyboard.type(receiver.url)
  await press('Enter')
  await keepSecret(page)

  const { credentials } = await setupOf('CredentialService/ListCredentials', merchant_id)
  const { routes } = await setupOf('RouteService/ListRoutes', merchant_id)
  const c_id = `first-${randomUUID().slice(0, 8)}`
  const payment = {
    identifiers: { c_id },
    amount: { value: 4_200, currency: 'INR' },
    payer: { email: 'first@example.com' },
  }
  const body = JSON.stringify({
    method: 'payment.in',
    service_id: Number(routes[0].serviceId),
    params: { payment },
  })
  const credential = {
    application_id: Number(credentials[0].applicationId),
    api_version: 'v1',
    secret,
  } as const
  const headers = signV1(credential, body)
  const created = await send(system.demo().base_url, { path: PATHS.v1, headers, body })
  expect(created.body).toMatchObject({ success: true })
  await receiver.waitFor(c_id, 'payment.completed')

  await press('g', 'p')
  await page.getByText(c_id).waitFor()
  await press('j', 'Enter')
  await heading(page, /Deposit 42\.00 INR/)
  await page.getByText('Payment succeeded').waitFor()
  await visit(page, '/merchants', 'Merchants')
  await page.getByText('Gamma').first().waitFor()
  expect((await page.textContent('main'))?.replaceAll('\n', ' ')).not.toMatch(/[\p{Cf}\p{Cc}]/u)
  expect(await page.evaluate('[typeof hacked, document.images.length]')).toEqual(['undefined', 0])
  expect(errors).toEqual([])
})

test('a refused field is named in its form, and a creation whose answer is lost is made once', async () => {
  const { page } = await pages.signIn()
  const { merchant_id } = alpha.merchant
  await visit(page, `/merchants/${merchant_id}`, /alpha/)
  const before = (await setupOf('EndpointService/ListEndpoints', merchant_id)).endpoints.length
  await page.getByRole('button', { name: 'New endpoint' }).click()
  const url = page.getByLabel('URL')
  const create = dialogOf(page).getByRole('button', { name: 'New endpoint' })
  await url.fill('http://127.0.0.1:1/hook')
  await create.click()
  await page.locator('.field').getByText('port 80, 443').waitFor()
  expect(await url.evaluate((field) => field === field.ownerDocument.activeElement)).toBe(true)
  expect(await url.getAttribute('aria-invalid')).toBe('true')

  let calls = 0
  await page.route('**/*EndpointService/CreateEndpoint', async (route) => {
    calls += 1
    const response = await route.fetch({ maxRetries: 2 })
    if (calls === 1) await route.abort()
    else await route.fulfill({ response })
  })
  await url.fill(`${receiver.url}?first`)
  await create.click()
  await page.getByRole('alert').waitFor()
  // A changed form is not a second endpoint while nobody knows whether the first one was made.
  await url.fill(`${receiver.url}?second`)
  await create.click()
  await page.getByText('1013').waitFor()
  await url.fill(`${receiver.url}?first`)
  await create.click()
  expect(await keepSecret(page)).toMatch(/^[0-9a-f]{64}$/)
  const { endpoints } = await setupOf('EndpointService/ListEndpoints', merchant_id)
  expect([calls, endpoints.length - before]).toEqual([3, 1])
})

test('an edit sends what was changed, and a closed merchant needs its id', async () => {
  const { page, errors } = await pages.signIn()
  const { merchant } = await operator('multihub.merchants.v1.MerchantService/CreateMerchant', {
    name: 'short-lived',
    timezone: 'UTC',
    environments: ['ENVIRONMENT_TEST'],
  })
  const { merchantId } = merchant
  await visit(page, `/merchants/${merchantId}`, 'short-lived')
  await page.getByRole('button', { name: 'Edit', exact: true }).first().click()
  await dialogOf(page).getByLabel('Time zone').fill('Asia/Tokyo')
  await page.getByLabel(/Reason/).fill('moved')
  await dialogOf(page).getByRole('button', { name: 'Save' }).click()
  await page.getByRole('status').getByText('Done').waitFor()
  await page.getByRole('button', { name: 'Close', exact: true }).click()
  await page.getByText('Asia/Tokyo').waitFor()
  await page.getByRole('button', { name: 'Close merchant' }).click()
  await page.getByLabel(/Reason/).fill('it left')
  const close = dialogOf(page).getByRole('button', { name: 'Close merchant' })
  expect(await close.isDisabled()).toBe(true)
  await page.getByLabel('to confirm').fill(merchantId)
  await close.click()
  await page.getByRole('status').getByText('Done').waitFor()
  const { merchant: now } = await operator('multihub.merchants.v1.MerchantService/GetMerchant', {
    merchantId,
  })
  expect(now).toMatchObject({ name: 'short-lived', timezone: 'Asia/Tokyo', status: 'MERCHANT_STATUS_CLOSED' })
  expect(errors).toEqual([])
})

test('a principal may only read: no button changes anything; one with the right rotate replaces its own secrets', async () => {
  const { merchant_id } = alpha.merchant
  const reader = await pages.newToken(['read'])
  const { page } = await pages.signIn(reader.token)
  await visit(page, `/merchants/${merchant_id}`, /alpha/)
  await page.getByText('Would a payment go?').first().waitFor({ state: 'attached' })
  const offered = await page.locator('main .acts button').allTextContents()
  expect([...new Set(offered.map((text) => text.trim()))]).toEqual(['Would a payment go?'])

  const { token } = await pages.newToken(['rotate'], merchant_id)
  const { page: own, errors } = await pages.openConsole('/')
  await enter(own, token, 'Payments')
  await own.keyboard.press('g')
  await own.keyboard.press('m')
  await heading(own, 'alpha')
  const credential_item = own.locator('details').filter({ hasText: String(alpha.credential.application_id) })
  const rotate = credential_item.getByText('Replace secret')
  await rotate.waitFor()
  const buttons = own.locator('main .acts button')
  const texts = new Set((await buttons.allTextContents()).map((text) => text.trim()))
  expect([...texts].sort()).toEqual(['Replace secret', 'Would a payment go?'])
  await rotate.click()
  await own.getByLabel(/Reason/).fill('once a year')
  await dialogOf(own).getByRole('button', { name: 'Replace secret' }).click()
  const secret = await keepSecret(own)
  const { credentials } = await setupOf('CredentialService/ListCredentials', merchant_id)
  const body = JSON.stringify({ method: 'gateway.ping', params: {} })
  const answers = await Promise.all(
    (credentials as readonly { readonly applicationId: string }[]).map(({ applicationId }) => {
      const credential = { application_id: Number(applicationId), api_version: 'v1', secret } as const
      return send(system.demo().base_url, { path: PATHS.v1, headers: signV1(credential, body), body })
    }),
  )
  expect(answers.filter(({ body: answer }) => answer.success === true)).toHaveLength(1)
  expect(errors).toEqual([])
})

test('evidence is sent with its file, and dead callbacks are counted before they are sent again', async () => {
  const { page, errors } = await pages.signIn()
  await visit(page, `/chargebacks?open=${chargebackId}`, 'Chargebacks')
  await page.getByRole('button', { name: 'Add evidence' }).click()
  const buffer = Buffer.from('delivered on Monday')
  await page
    .locator('input[type=file]')
    .setInputFiles({ name: 'receipt.txt', mimeType: 'text/plain', buffer })
  await page.getByLabel(/Reason/).fill('the courier')
  await dialogOf(page).getByRole('button', { name: 'Add evidence' }).click()
  await page.getByText('The file is part of the evidence.').waitFor()
  await page.keyboard.press('Enter')
  await page.getByLabel('Details').getByText('receipt.txt').waitFor()

  const { merchant_id: merchantId } = alpha.merchant
  await visit(page, '/deliveries', 'Deliveries')
  await page.getByRole('button', { name: 'Send many again' }).click()
  await dialogOf(page).getByLabel('Merchant').fill(merchantId)
  await page.getByLabel(/Reason/).fill('the receiver is back')
  await dialogOf(page).getByRole('button', { name: 'Count them' }).click()
  await page.getByText('1 dead callbacks fit').waitFor()
  await page.getByLabel('to confirm').fill('1')
  await dialogOf(page).getByRole('button', { name: 'Send many again' }).click()
  await page.getByText('1 callbacks wait for their next try.').waitFor()
  await eventually(deadDeliveries, (dead) => dead === 0)
  expect(errors).toEqual([])
})

test('the ledger and the audit trail are verified, and a new principal signs in with the token that is shown once', async () => {
  const { page, errors } = await pages.signIn()
  await visit(page, '/verification', 'Verification')
  await page.getByRole('button', { name: 'Verify the audit trail' }).click()
  await dialogOf(page).getByRole('button', { name: 'Verify the audit trail' }).click()
  await page.getByText(/All \d+ entries are as they were written/).waitFor()
  await page.keyboard.press('Escape')
  await page.keyboard.press('e')
  await dialogOf(page).getByRole('button', { name: 'Verify the ledger' }).click()
  await page.getByText('Done').waitFor()
  await page.keyboard.press('Enter')
  await page
    .locator('main')
    .getByText(/\bconsistent/)
    .waitFor()
  await visit(page, '/people', 'People and programs')
  await page.keyboard.press('n')
  await page.keyboard.press('p')
  await dialogOf(page).getByLabel('Name').fill('on call')
  await dialogOf(page).getByLabel('Kind').selectOption('person')
  await dialogOf(page).getByLabel('support').check()
  await dialogOf(page).getByRole('button', { name: 'New principal' }).click()
  const { page: other } = await pages.signIn(await keepSecret(page))
  await other.getByText('on call').waitFor()
  expect(errors).toEqual([])
})

dialogsSuite(test, () => ({
  ...pages,
  merchant_id: alpha.merchant.merchant_id,
  h_id,
  ticketId,
  chargebackId,
  refundId,
}))

liveSuite(test, () => ({ ...pages, alpha, operator, h_id, chargebackId }))
settlementSuite(test, () => ({ ...pages, alpha, operator }))
// It comes last: names and texts of it are in every list afterwards.
hostileSuite(test, () => ({ ...pages, alpha, operator, receiver }))
