import { randomUUID } from 'node:crypto'
import { expect } from '@jest/globals'
import type { Page } from 'playwright-core'
import { announcementOf, transfer } from '../integration/attachments.fixture.ts'
import { type TestConsole, visit } from '../support/console.ts'
import { eventually } from '../support/eventually.ts'
import type { MerchantClient } from '../support/merchant.ts'
import type { Operator } from '../support/operator.ts'
import type { Receiver } from '../support/receiver.ts'
import type { DeclareTest } from './console-reading.suite.ts'

interface HostileFixture extends TestConsole {
  readonly alpha: MerchantClient
  readonly operator: Operator
  readonly receiver: Receiver
}

/** A script, an image, marks that turn the direction of text, and a text that is read from the right. */
const ATTACK = `<img src=x onerror="hacked=1"><script>hacked=1</script>{{7*7}}\u202Egpj\u2066\u061Cשלום`
/** What a field takes that permits controls and long texts: a bell, a colour of terminals, and one word without an end. */
const LONG_ATTACK = `${ATTACK}\u0007\u001b[31m\r\n${'W'.repeat(300)}`
/** What a URL takes. */
const QUERY = `?q=<script>hacked=1</script>"'${'w'.repeat(300)}`

/** The fields that a merchant fills through the public door, each with a mark by which a page that shows it is known. */
const MARKS = {
  c_id: 'in-c-id',
  description: 'in-description',
  email: 'in-email',
  phone: 'in-phone',
  first_name: 'in-first',
  last_name: 'in-last',
  customer: 'in-customer',
  on_success: 'in-success',
  on_fail: 'in-fail',
  webhook_url: 'in-webhook',
  response: 'of-receiver',
  ticket_title: 'ticket-title',
  ticket_text: 'ticket-text',
  ticket_comment: 'ticket-comment',
  file_name: 'file-name',
  refund_reason: 'refund-reason',
  refund_c_id: 'rf-c-id',
  refund_comment: 'refund-comment',
  merchant: 'of-merchant',
  purpose: 'of-route',
  endpoint: 'of-endpoint',
  reason_code: 'of-bank',
} as const

/** What a merchant writes of the recipient of a payout, which no page shows. */
const UNSHOWN = 'of-recipient'

/** The body with which the receiver of callbacks answers. */
export const HOSTILE_RESPONSE = `${MARKS.response} ${LONG_ATTACK}`

/** What a merchant wrote, as its pages are found. */
interface Written {
  readonly merchant_id: string
  readonly payment_id: string
  readonly payout_id: string
  readonly ticket_id: string
  readonly refund_id: string
  readonly chargeback_id: string
  readonly delivery_id: string
  readonly destination_key: string
}

/** Everything that merchants can write, on every page that shows it. */
export function hostileSuite(test: DeclareTest, fixture: () => HostileFixture): void {
  test('whatever field of the public door a merchant fills, every page shows it as text that turns nothing around', async () => {
    const written = await writeAll(fixture())
    const { page, errors } = await fixture().signIn()
    const pages = pagesOf(written)
    const shown = new Set(pages.flatMap(([, , marks = []]) => marks))
    expect([...shown].sort()).toEqual(Object.values(MARKS).sort())
    const faults: string[] = []
    for (const [path, name, marks = []] of pages) {
      await visit(page, path, name)
      await revealAll(page)
      for (const mark of marks) await page.getByText(mark).first().waitFor({ state: 'attached' })
      await page.evaluate(`for (const one of document.querySelectorAll('main details')) one.open = true`)
      for (const width of [360, 1_440]) {
        await page.setViewportSize({ width, height: 900 })
        faults.push(...(await faultsOn(page, width)).map((fault) => `${path} at ${width}: ${fault}`))
      }
      if ((await page.textContent('body'))?.includes(UNSHOWN)) faults.push(`${path}: ${UNSHOWN}`)
    }
    expect(faults).toEqual([])
    expect(errors).toEqual([])
  })
}

/** Writes every field once. */
async function writeAll({ alpha, operator, receiver }: HostileFixture): Promise<Written> {
  const { merchant_id } = alpha.merchant
  const person = (first: string, last: string) => ({
    first_name: `${first} ${ATTACK}`,
    last_name: `${last} ${ATTACK}`,
  })
  const c_id = `${MARKS.c_id} ${ATTACK}`
  const endpoint = await operator('multihub.merchants.v1.EndpointService/CreateEndpoint', {
    merchantId: merchant_id,
    environment: 'ENVIRONMENT_TEST',
    url: `${receiver.url}/${MARKS.endpoint}${QUERY}`,
    events: ['payment.refunded'],
  })
  expect(endpoint.endpoint.endpointId).toBeTruthy()
  await operator('multihub.merchants.v1.RouteService/UpdateRoute', {
    serviceId: String(alpha.route({})),
    purpose: `${MARKS.purpose} ${ATTACK}`.slice(0, 64),
  })
  const paid = await alpha.call({
    method: 'payment.in',
    service_id: alpha.route({}),
    params: {
      payment: {
        identifiers: { c_id },
        amount: { value: 12_300, currency: 'INR' },
        description: `${MARKS.description} ${LONG_ATTACK}`,
        payer: {
          email: `${MARKS.email}\u202Egpj@shop.example`,
          phone: `${MARKS.phone} <b>\u202E1`,
          person: person(MARKS.first_name, MARKS.last_name),
          customer_account: { id: `${MARKS.customer} ${ATTACK}` },
        },
        client: { language: '<b>\u202Een', country: '<b>' },
        redirect: {
          on_success: `https://shop.example/${MARKS.on_success}${QUERY}\u202E`,
          on_fail: `https://shop.example/${MARKS.on_fail}${QUERY}\u202E`,
        },
        webhook_url: `${receiver.url}/${MARKS.webhook_url}${QUERY}`,
      },
    },
  })
  expect(paid.body).toMatchObject({ success: true })
  const payment_id: string = paid.body.result.payment.identifiers.h_id
  await alpha.finalPayment(c_id)
  const paid_out = await alpha.call({
    method: 'payment.out',
    service_id: alpha.route({ direction: 'out', method: 'imps' }),
    params: {
      payment: {
        identifiers: { c_id: randomUUID() },
        amount: { value: 100, currency: 'INR' },
        receiver: {
          bank: { account: { id: '123456789012' }, ifsc: 'SBIN0001234' },
          email: `${UNSHOWN}\u202Egpj@shop.example`,
          phone: `${UNSHOWN} <b>\u202E1`,
          person: person(UNSHOWN, UNSHOWN),
        },
      },
    },
  })
  expect(paid_out.body).toMatchObject({ success: true })
  const file = await uploadFile(alpha, `${MARKS.file_name} <img src=x onerror=hacked=1>שלום.txt`)
  const ticket = await alpha.call({
    method: 'ticket.create',
    params: {
      identifiers: { c_id: randomUUID() },
      category: 'payment_issue',
      title: `${MARKS.ticket_title} ${ATTACK}`,
      description: `${MARKS.ticket_text} ${LONG_ATTACK}`,
      payment: { c_id },
      attachment_ids: [file],
    },
  })
  expect(ticket.body).toMatchObject({ success: true })
  const ticket_id: string = ticket.body.result.identifiers.h_id
  const refund = await alpha.call({
    method: 'refund.request',
    params: {
      identifiers: { c_id: `${MARKS.refund_c_id} ${ATTACK}` },
      payment: { c_id },
      amount: '100',
      reason: `${MARKS.refund_reason} ${LONG_ATTACK}`.slice(0, 500),
    },
  })
  expect(refund.body).toMatchObject({ success: true })
  const refund_id: string = refund.body.result.identifiers.h_id
  for (const [method, subject, body] of [
    ['ticket.comment.create', { ticket: { h_id: ticket_id } }, MARKS.ticket_comment],
    ['refund.comment.create', { refund: { h_id: refund_id } }, MARKS.refund_comment],
  ] as const) {
    const answer = await alpha.call({
      method,
      operation_id: randomUUID(),
      params: { ...subject, body: `${body} ${LONG_ATTACK}` },
    })
    expect([method, answer.body]).toMatchObject([method, { success: true }])
  }
  const { chargeback } = await operator('multihub.support.v1.ChargebackService/OpenChargeback', {
    paymentId: payment_id,
    amount: { minor: '500', currency: 'INR' },
    reasonCode: `${MARKS.reason_code} <b>`,
  })
  await operator('multihub.merchants.v1.MerchantService/CreateMerchant', {
    name: `${MARKS.merchant} ${ATTACK}`,
    timezone: 'UTC',
    environments: ['ENVIRONMENT_TEST'],
  })
  const { deliveries } = await eventually(
    () => operator('multihub.notifier.v1.DeliveryService/ListDeliveries', { merchantId: merchant_id }),
    (list) => list?.deliveries?.some(({ url }: { readonly url: string }) => url.includes(MARKS.webhook_url)),
  )
  const delivery = deliveries.find(({ url }: { readonly url: string }) => url.includes(MARKS.webhook_url))
  return {
    merchant_id,
    payment_id,
    payout_id: paid_out.body.result.payment.identifiers.h_id,
    ticket_id,
    refund_id,
    chargeback_id: chargeback.chargebackId,
    delivery_id: delivery.deliveryId,
    destination_key: delivery.destinationKey,
  }
}

/** Uploads a file under a name, and returns its id when it is ready. */
async function uploadFile(alpha: MerchantClient, name: string): Promise<string> {
  const content = Buffer.from('a receipt\n')
  const { body } = await alpha.call({
    method: 'attachment.prepare',
    operation_id: randomUUID(),
    params: announcementOf(content, { name }),
  })
  expect(body).toMatchObject({ success: true })
  const { upload, attachment } = body.result
  const { h_id } = attachment.identifiers
  await transfer(upload.url, { method: 'PUT', headers: upload.headers, content })
  const params = { attachment: { h_id } }
  await alpha.call({ method: 'attachment.finalize', operation_id: randomUUID(), params })
  await eventually(
    () => alpha.call({ method: 'attachment.status', params }),
    (answer) => answer?.body.result?.status === 'ready',
  )
  return h_id
}

/** The pages that show what was written: their addresses, headings, and the marks of what each must show. */
function pagesOf(
  written: Written,
): readonly (readonly [string, string | RegExp, marks?: readonly string[]])[] {
  const { merchant_id, payment_id, payout_id, ticket_id, refund_id, chargeback_id, delivery_id } = written
  const of_merchant = `q=merchant:${merchant_id}`
  const { c_id, description, email, phone, first_name, last_name, customer } = MARKS
  const { on_success, on_fail, webhook_url, response } = MARKS
  return [
    ['/overview', 'Overview'],
    [`/search?q=${encodeURIComponent(`${MARKS.c_id} ${ATTACK}`)}`, 'Search'],
    ['/payments', 'Payments', [c_id]],
    [
      `/payments/${payment_id}`,
      /Deposit/,
      [
        c_id,
        description,
        email,
        phone,
        first_name,
        last_name,
        customer,
        on_success,
        on_fail,
        webhook_url,
        response,
      ],
    ],
    [`/payments/${payout_id}`, /Payout/],
    [
      `/refunds?open=${refund_id}`,
      'Refunds',
      [MARKS.refund_reason, MARKS.refund_c_id, MARKS.refund_comment, c_id],
    ],
    [`/chargebacks?open=${chargeback_id}`, 'Chargebacks', [MARKS.reason_code, c_id]],
    ['/tickets', 'Tickets', [MARKS.ticket_title]],
    [
      `/tickets/${ticket_id}`,
      /ticket-title/,
      [MARKS.ticket_text, MARKS.ticket_comment, MARKS.file_name, c_id],
    ],
    [`/deliveries?${of_merchant}&open=${delivery_id}`, 'Deliveries', [webhook_url, response]],
    [`/destinations?open=${encodeURIComponent(written.destination_key)}`, 'Destinations'],
    [`/requests?${of_merchant}`, 'Requests'],
    [`/balances?${of_merchant} env:test`, 'Balances'],
    ['/merchants', 'Merchants', [MARKS.merchant]],
    [`/merchants/${merchant_id}`, 'alpha', [MARKS.purpose, MARKS.endpoint]],
    ['/secrets', 'Secrets', [MARKS.endpoint]],
    ['/stuck', 'Stuck effects'],
    ['/anomalies', 'Anomalies'],
    ['/approvals', 'Approvals'],
    ['/audit', 'Audit'],
  ]
}

/** Reveals persons and bodies. */
async function revealAll(page: Page): Promise<void> {
  await page.evaluate(`for (const one of document.querySelectorAll('.callback')) one.open = true`)
  for (const name of ['Reveal', 'Show body']) {
    const button = page.getByRole('main').getByRole('button', { name, exact: true }).first()
    if ((await button.count()) === 0) continue
    await button.click()
    await page.getByLabel(/Reason/).fill('the test reads what merchants wrote')
    await page.getByRole('dialog').getByRole('button', { name }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Close' }).click()
    await page.getByRole('dialog').waitFor({ state: 'detached' })
  }
}

/** What of a page is more than text: scripts that ran, elements that were not ours, hidden marks, and a page that is too wide. */
async function faultsOn(page: Page, width: number): Promise<readonly string[]> {
  return page.evaluate(`(() => {
    const hidden = /[\\p{Cf}\\p{Cc}\\p{Zl}\\p{Zp}]/u
    const without_lines = (text) => text.replaceAll(/[\\n\\t]/g, ' ')
    const faults = []
    if (typeof hacked !== 'undefined') faults.push('a script ran')
    if (document.images.length > 0) faults.push('an image')
    if (document.querySelector('#root script, main script, main iframe')) faults.push('a script element')
    if (hidden.test(without_lines(document.body.innerText))) faults.push('a hidden mark in the text')
    if (hidden.test(document.title)) faults.push('a hidden mark in the title')
    for (const element of document.querySelectorAll('main *'))
      for (const { name, value } of element.attributes)
        if (hidden.test(without_lines(value)) && name !== 'value') faults.push('a hidden mark in ' + name + ' of ' + element.tagName)
    if (document.documentElement.scrollWidth > ${width}) faults.push('wider than the screen: ' + document.documentElement.scrollWidth)
    return [...new Set(faults)]
  })()`)
}
