import { randomUUID } from 'node:crypto'
import { create, type DescMessage, fromBinary, type MessageShape, toBinary } from '@bufbuild/protobuf'
import { expect } from '@jest/globals'
import type { Page, Route } from 'playwright-core'
import { type Attachment, AttachmentStatus } from '#gen/multihub/attachments/v1/attachment_pb.ts'
import {
  FinalizeEvidenceResponseSchema,
  GetAttachmentsResponseSchema,
} from '#gen/multihub/attachments/v1/attachment_service_pb.ts'
import { GetOverviewResponseSchema } from '#gen/multihub/backoffice/v1/overview_service_pb.ts'
import { OpenItemsSchema } from '#gen/multihub/common/v1/open_items_pb.ts'
import type { PaymentStatus } from '#gen/multihub/payments/v1/payment_pb.ts'
import { ListPaymentsResponseSchema } from '#gen/multihub/payments/v1/payment_service_pb.ts'
import {
  ListUnconfiguredAccountsResponseSchema,
  UnconfiguredAccountSchema,
} from '#gen/multihub/payments/v1/provider_account_service_pb.ts'
import { type TestConsole, visit } from '../support/console.ts'
import { eventually } from '../support/eventually.ts'
import type { MerchantClient } from '../support/merchant.ts'
import type { Operator } from '../support/operator.ts'
import type { DeclareTest } from './console-reading.suite.ts'

interface LiveFixture extends TestConsole {
  readonly alpha: MerchantClient
  readonly operator: Operator
  readonly h_id: string
  readonly chargebackId: string
}

const ATTACHMENTS = 'multihub.attachments.v1.AttachmentService'

/** What goes on by itself while a person reads or writes: sessions, checks of files, long conversations, lists and their times. */
export function liveSuite(test: DeclareTest, fixture: () => LiveFixture): void {
  test('an open dialog keeps what was written while the session cannot be read', async () => {
    const { signIn, h_id } = fixture()
    const { page } = await signIn()
    await visit(page, `/payments/${h_id}`, /Deposit/)
    await page.getByRole('button', { name: 'Adjust balance' }).click()
    await page.getByLabel(/Amount/).fill('1.25')
    await page.getByLabel(/Reason/).fill('fee returned')
    let refused = 0
    const refuse = async (route: Route): Promise<void> => {
      refused += 1
      await route.abort()
    }
    const paths = ['**/session', '**/multihub.*/*']
    for (const path of paths) await page.route(path, refuse)
    await page.getByText('The back office does not answer.').waitFor()
    const send = page.getByRole('dialog').getByRole('button', { name: 'Adjust balance' })
    await send.click()
    await page.getByRole('dialog').getByRole('alert').waitFor()
    expect(refused).toBeGreaterThan(2)
    for (const path of paths) await page.unroute(path, refuse)
    await page.getByText('The back office does not answer.').waitFor({ state: 'detached' })
    expect(await page.getByLabel(/Amount/).inputValue()).toBe('1.25')
    expect(await page.getByLabel(/Reason/).inputValue()).toBe('fee returned')
    await send.click()
    await page.getByRole('status').getByText('Done').waitFor()
  })

  test('while a file of evidence is checked it is only read, and it is finished once', async () => {
    const { signIn, operator, chargebackId } = fixture()
    const { page, errors } = await signIn()
    let reads = 0
    await page.route(`**/${ATTACHMENTS}/FinalizeEvidence`, (route) =>
      changeAnswer(route, FinalizeEvidenceResponseSchema, ({ attachment }) => setScanning(attachment)),
    )
    await page.route(`**/${ATTACHMENTS}/GetAttachments`, (route) =>
      changeAnswer(route, GetAttachmentsResponseSchema, ({ attachments }) => {
        reads += 1
        if (reads < 3) setScanning(attachments[0])
      }),
    )
    await visit(page, `/chargebacks?open=${chargebackId}`, 'Chargebacks')
    await page.getByRole('button', { name: 'Add evidence' }).click()
    const name = `${randomUUID()}.txt`
    const buffer = Buffer.from(`delivered ${name}`)
    await page.locator('input[type=file]').setInputFiles({ name, mimeType: 'text/plain', buffer })
    await page.getByLabel(/Reason/).fill('checked slowly')
    const before = await finishedFiles(operator)
    await page.getByRole('dialog').getByRole('button', { name: 'Add evidence' }).click()
    await page.getByText('The file is checked…').waitFor()
    await page.getByText('The file is part of the evidence.').waitFor()
    expect([reads, (await finishedFiles(operator)) - before]).toEqual([3, 1])
    await page.keyboard.press('Enter')
    await page.getByLabel('Details').getByText(name).waitFor()
    expect(errors).toEqual([])
  })

  test('accounts that are not configured are named: on the overview, with the providers, and at the routes that name them', async () => {
    const { signIn, operator } = fixture()
    const make = async (rpc: string, request: object) => operator(`multihub.merchants.v1.${rpc}`, request)
    const { merchant } = await make('MerchantService/CreateMerchant', {
      name: 'half configured',
      timezone: 'UTC',
      environments: ['ENVIRONMENT_TEST'],
    })
    await make('RouteService/CreateRoute', {
      merchantId: merchant.merchantId,
      environment: 'ENVIRONMENT_TEST',
      direction: 'DIRECTION_IN',
      method: 'upi',
      currency: 'INR',
      connector: 'sandbox',
      providerAccounts: ['sandbox', 'gone'],
    })
    const { page, errors } = await signIn()
    await page.route('**/*ProviderAccountService/ListUnconfiguredAccounts', (route) =>
      changeAnswer(route, ListUnconfiguredAccountsResponseSchema, ({ accounts }) => {
        const openPayments = create(OpenItemsSchema, { count: 2 })
        accounts.push(create(UnconfiguredAccountSchema, { accountId: 'gone', openPayments }))
      }),
    )
    await page.getByRole('rowheader', { name: 'payments at unconfigured accounts' }).getByRole('link').click()
    await page.getByRole('alert').getByText('gone').waitFor()
    await page.getByRole('link', { name: '2 payments' }).click()
    await page.getByText('Nothing matches these filters.').waitFor()
    await page.goBack()
    await page.getByRole('alert').getByRole('link', { name: 'approved refunds' }).click()
    await page.waitForURL(/\/refunds\?q=status(:|%3A)approved$/)
    await visit(page, `/merchants/${merchant.merchantId}`, 'half configured')
    await page.getByRole('alert').getByText('gone').waitFor()
    expect(errors).toEqual([])
  })

  // O19
  test('of a server of another release, what is not known on either side is said or left out, and everything else is shown', async () => {
    const { page } = await fixture().signIn()
    // An older server has neither the number nor the RPC.
    await page.route('**/*OverviewService/GetOverview', (route) =>
      changeAnswer(route, GetOverviewResponseSchema, (overview) => {
        delete overview.unconfiguredPayments
      }),
    )
    await page.route('**/*ProviderAccountService/ListUnconfiguredAccounts', (route) =>
      route.fulfill({ status: 404, json: { code: 'unimplemented', message: 'there is no such RPC' } }),
    )
    await page.reload()
    await page.getByRole('row', { name: /^– payments at unconfigured accounts/ }).waitFor()
    await visit(page, '/providers', 'Provider accounts')
    await page.getByRole('alert').getByText('unimplemented').waitFor()
    await page
      .getByRole('row', { name: /sandbox/ })
      .first()
      .waitFor()
    // A newer server has statuses that this console does not know.
    await page.route('**/*PaymentService/ListPayments', (route) =>
      changeAnswer(route, ListPaymentsResponseSchema, ({ payments }) => {
        for (const payment of payments) payment.status = 99 as PaymentStatus
      }),
    )
    await visit(page, '/payments', 'Payments')
    await page
      .getByRole('row', { name: /123\.00 INR/ })
      .first()
      .waitFor()
  })

  test('the address of a request, of a ledger entry and of a receiver opens it, whatever the list shows', async () => {
    const { signIn, alpha, operator } = fixture()
    const { merchant_id: merchantId } = alpha.merchant
    const { headers } = await alpha.call({ method: 'gateway.ping', params: {} })
    const request_id = String(headers['x-request-id'])
    await eventually(
      () => operator('multihub.backoffice.v1.ExchangeService/ListExchanges', { merchantId }),
      (list) => list?.exchanges?.some((one: { readonly requestId: string }) => one.requestId === request_id),
    )
    const { entries } = await operator('multihub.balances.v1.BalanceService/ListEntries', {
      merchantId,
      environment: 'ENVIRONMENT_TEST',
    })
    const [{ entryId }] = entries
    const { destinations } = await operator('multihub.notifier.v1.DeliveryService/ListDestinations', {})
    const [{ destinationKey, origin }] = destinations
    const { page, errors } = await signIn()
    // The filters select none of them: each is read by its id.
    for (const [path, name, shown] of [
      [`/requests?open=${request_id}`, 'Requests', 'gateway.ping'],
      [`/requests?q=merchant:${merchantId} code:6001&open=${request_id}`, 'Requests', 'gateway.ping'],
      [
        `/balances?q=merchant:${merchantId} env:test currency:LKR&open=${entryId}`,
        'Balances',
        'available after',
      ],
      [`/destinations?q=state:half_open&open=${encodeURIComponent(destinationKey)}`, 'Destinations', origin],
    ] as const) {
      await visit(page, path, name)
      await page.getByLabel('Details').getByText(shown).first().waitFor()
    }
    expect(errors).toEqual([])
  })

  test('a conversation of more than 100 comments says so, and shows the later ones', async () => {
    const { signIn, alpha, operator } = fixture()
    const params = { category: 'question', priority: 'low', title: 'A long one', description: 'first' }
    const { body } = await alpha.call({
      method: 'ticket.create',
      params: { identifiers: { c_id: randomUUID() }, ...params },
    })
    const ticketId = body.result.identifiers.h_id
    for (let number = 1; number <= 103; number += 1)
      await operator('multihub.support.v1.TicketService/AnswerTicket', {
        ticketId,
        body: `comment ${number} of 103`,
        internal: true,
      })
    const { page, errors } = await signIn()
    await visit(page, `/tickets/${ticketId}`, 'A long one')
    await page.getByText('comment 100 of 103').waitFor()
    expect(await page.getByText('comment 101 of 103').count()).toBe(0)
    await page.getByRole('button', { name: '100 later comments' }).click()
    await page.getByText('comment 103 of 103').waitFor()
    expect(await page.getByText(/^comment \d+ of 103$/).count()).toBe(103)
    expect(errors).toEqual([])
  })

  test('j and k go on where the focus was, also after the list was read again', async () => {
    const { signIn, alpha } = fixture()
    for (let count = 0; count < 3; count += 1) await alpha.deposit(100)
    const { page, errors } = await signIn()
    await visit(page, '/payments', 'Payments')
    await page.getByRole('row').nth(3).waitFor()
    const press = async (...keys: readonly string[]): Promise<number> => {
      for (const key of keys) await page.keyboard.press(key)
      return focusedRow(page)
    }
    expect([await press('j'), await press('j'), await press('k'), await press('j')]).toEqual([0, 1, 0, 1])
    await page.waitForResponse(/PaymentService\/ListPayments/)
    expect(await focusedRow(page)).toBe(1)
    await page.getByLabel('Search any id').focus()
    expect(await focusedRow(page)).toBe(-1)
    // In a field the keys are letters.
    await page.evaluate('document.activeElement.blur()')
    expect([await press('j'), await press('k')]).toEqual([2, 1])
    await page.keyboard.press('Enter')
    await page.waitForURL(/\/payments\/./)
    expect(errors).toEqual([])
  })

  test('the times of a list are in the zone of its merchant, and of all merchants in the zone of this browser', async () => {
    const { signIn, alpha } = fixture()
    const { page } = await signIn()
    const first = page.locator('table.rows time').first()
    const expectShift = async (hours: number): Promise<void> => {
      const instant = new Date((await first.getAttribute('datetime')) ?? '')
      const shown = new Date(instant.getTime() + hours * 3_600_000).toISOString()
      await first.getByText(shown.slice(0, 19).replace('T', ' ')).waitFor()
    }
    await visit(page, `/payments?q=merchant:${alpha.merchant.merchant_id}`, 'Payments')
    await first.waitFor()
    await page.getByLabel('Time zone').selectOption('merchant')
    await expectShift(5.5)
    await page.getByLabel('Time zone').selectOption('UTC')
    await expectShift(0)
    await page.getByLabel('Time zone').selectOption('merchant')
    await visit(page, '/payments', 'Payments')
    await expectShift(0)
  })
}

const focusedRow = (page: Page): Promise<number> =>
  page.evaluate(`[...document.querySelectorAll('table.rows tbody tr')].indexOf(document.activeElement)`)

async function finishedFiles(operator: Operator): Promise<number> {
  const { entries = [] } = await operator('multihub.backoffice.v1.AuditService/ListAuditEntries', {
    rpc: `${ATTACHMENTS}/FinalizeEvidence`,
    pageSize: 1_000,
  })
  return entries.length
}

function setScanning(attachment: Attachment | undefined): void {
  if (attachment !== undefined) attachment.status = AttachmentStatus.SCANNING
}

/** Lets the back office answer, and changes the message on its way to the browser. */
async function changeAnswer<O extends DescMessage>(
  route: Route,
  output: O,
  change: (answer: MessageShape<O>) => void,
): Promise<void> {
  const response = await route.fetch({ maxRetries: 2 })
  const answer = fromBinary(output, await response.body())
  change(answer)
  const { 'content-encoding': _encoding, 'content-length': _length, ...headers } = response.headers()
  await route.fulfill({ status: response.status(), headers, body: Buffer.from(toBinary(output, answer)) })
}
