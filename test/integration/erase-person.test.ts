import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { Environment } from '#gen/multihub/common/v1/environment_pb.ts'
import { DeliveryService } from '#gen/multihub/notifier/v1/delivery_service_pb.ts'
import { PaymentErasureService } from '#gen/multihub/payments/v1/payment_erasure_service_pb.ts'
import { type Payment, PaymentStatus } from '#gen/multihub/payments/v1/payment_pb.ts'
import { PaymentService } from '#gen/multihub/payments/v1/payment_service_pb.ts'
import { MerchantTicketService } from '#gen/multihub/support/v1/merchant_ticket_service_pb.ts'
import { TicketCategory, TicketPriority } from '#gen/multihub/support/v1/ticket_pb.ts'
import { TicketService } from '#gen/multihub/support/v1/ticket_service_pb.ts'
import { newSecret } from '#lib/base/crypto/secret.ts'
import { readLines } from '#lib/base/files.ts'
import { uuidv7 } from '#lib/base/ids.ts'
import { ALL_EVENTS_SUBJECT } from '#lib/contract/events.ts'
import { ownerOfWebhookSecret } from '#lib/contract/secret-owners.ts'
import { readErasures } from '#lib/patterns/erasures.ts'
import { role as notifier } from '../../services/notifier/service.ts'
import { type PaymentsSystem, startPayments } from '../../services/payments/payments-system.fixture.ts'
import { role as support } from '../../services/support/service.ts'
import { eventually } from '../support/eventually.ts'
import { type Receiver, startReceiver } from '../support/receiver.ts'

/** Values that occur nowhere else. */
const EMAIL = 'zelda.quixworth@planted.example.org'
const PAYER = {
  email: EMAIL,
  phone: '+919812345670',
  person: { firstName: 'Zeldaplanted', lastName: 'Quixworthplanted' },
  customerAccount: { id: 'customer-planted-77' },
}
const ACCOUNT = '987650123456'
const PLANTED = [EMAIL, '919812345670', 'Zeldaplanted', 'Quixworthplanted', 'customer-planted-77', ACCOUNT]

let system: PaymentsSystem
let receiver: Receiver
let directory: string
const on_bus: Buffer[] = []

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'multihub-erase-'))
  const variables = { MULTIHUB_ERASURES_FILE: join(directory, 'erasures.jsonl') }
  system = await startPayments({ notifier, others: [support], variables })
  receiver = await startReceiver()
  await system.roles.bus.subscribe(ALL_EVENTS_SUBJECT, ({ data }) => void on_bus.push(Buffer.from(data)))
})
afterAll(async () => {
  await system[Symbol.asyncDispose]()
  await receiver.stop()
  await rm(directory, { recursive: true, force: true })
})

const clients = () => ({
  operator: system.roles.client(PaymentService, 'backoffice'),
  internal: system.roles.client(PaymentService, 'internal'),
  erasure: system.roles.client(PaymentErasureService, 'backoffice'),
  deliveries: system.roles.client(DeliveryService, 'backoffice'),
})

/** A deposit of the planted person with a receiver of its own. The last digits of the amount decide its fate. */
function depositOf(minor: bigint, email = EMAIL): Promise<Payment> {
  const c_id = uuidv7()
  const owner = ownerOfWebhookSecret({ merchant_id: system.merchant_id, c_id })
  const webhook = { url: receiver.url, sealedSecret: system.roles.keys.webhook.seal(newSecret(), owner) }
  return system.deposit(minor, { c_id, request: { webhook, details: { payer: { ...PAYER, email } } } })
}

async function paidDeposit(email?: string): Promise<Payment> {
  const payment = await depositOf(1_000_908n, email)
  await eventually(
    async () => receiver.of(payment.cId),
    (callbacks = []) => callbacks.length >= 2,
  )
  return system.waitForStatus(payment.paymentId, PaymentStatus.SUCCESS)
}

async function deliveriesOf({ paymentId }: Payment) {
  return (await clients().deliveries.listDeliveries({ merchantId: system.merchant_id, paymentId })).deliveries
}

/** Erases, again while effects of the payment wait. */
const erase = (person: { case: 'paymentId' | 'email'; value: string }) =>
  eventually(
    () =>
      clients()
        .erasure.erasePerson({ merchantId: system.merchant_id, person })
        .catch(() => undefined),
    (answer) => answer !== undefined,
  )

async function storedBytes(): Promise<readonly Buffer[]> {
  const files = await readdir(system.roles.directory, { recursive: true, withFileTypes: true })
  return Promise.all(
    files.filter((file) => file.isFile()).map((file) => readFile(join(file.parentPath, file.name))),
  )
}

// C4
describe('what identifies a person', () => {
  test('is in callbacks and in what the merchant reads, but in no stored bytes, on no bus, and masked elsewhere', async () => {
    const payment = await paidDeposit()
    await system.fund(10_000_000n)
    const withdrawal = await system.withdraw(1_000_908n, {
      request: { beneficiary: { accountId: ACCOUNT, ifsc: 'SBIN0001234' }, details: { receiver: PAYER } },
    })
    await system.waitForStatus(withdrawal.paymentId, PaymentStatus.SUCCESS)
    expect(withdrawal.receiver?.bankAccount?.id).toBe(ACCOUNT)
    for (const { raw } of receiver.of(payment.cId))
      for (const text of [EMAIL, 'Zeldaplanted', PAYER.phone]) expect(raw.toString()).toContain(text)
    const bytes = [...(await storedBytes()), ...on_bus]
    expect(on_bus.length).toBeGreaterThan(3)
    // The search itself finds what is there.
    expect(bytes.some((file) => file.includes(payment.paymentId))).toBe(true)
    for (const text of PLANTED) expect(bytes.some((file) => file.includes(text))).toBe(false)

    const { paymentId } = payment
    const shown = async (caller: 'operator' | 'internal', reveal: boolean) =>
      (await clients()[caller].getPayment({ paymentId, reveal })).payment?.details?.payer?.email
    expect(await shown('operator', false)).toBe('****.org')
    expect(await shown('internal', true)).toBe('****.org')
    expect(await shown('operator', true)).toBe(EMAIL)
    const { payments } = await clients().operator.listPayments({ merchantId: system.merchant_id })
    expect(
      JSON.stringify(payments, (_name, value) => (typeof value === 'bigint' ? `${value}` : value)),
    ).not.toMatch(new RegExp(PLANTED.map((text) => text.replace(/[.+]/g, '\\$&')).join('|')))
  })

  test('is erased when the payment has ended, with its callbacks, and amounts and ids stay', async () => {
    const payment = await paidDeposit()
    const before = (await clients().operator.getPayment({ paymentId: payment.paymentId, reveal: true }))
      .payment
    const answer = await erase({ case: 'paymentId', value: payment.paymentId })
    expect(answer?.paymentIds).toEqual([payment.paymentId])
    const { payment: after } = await clients().operator.getPayment({
      paymentId: payment.paymentId,
      reveal: true,
    })
    expect(after).toMatchObject({
      cId: before?.cId,
      amount: before?.amount,
      status: before?.status,
      pId: before?.pId,
    })
    expect(after?.details).toBeUndefined()
    expect(after?.receiver?.qrPayload).toBeUndefined()
    expect(after?.eraseTime).toBeDefined()
    const deliveries = await eventually(
      () => deliveriesOf(payment),
      (found = []) => found.every(({ eraseTime }) => eraseTime !== undefined),
    )
    expect(deliveries.length).toBeGreaterThan(1)
    for (const { deliveryId } of deliveries)
      await expect(clients().deliveries.replayDelivery({ deliveryId })).rejects.toMatchObject({ code: 8801 })
    const list = readLines(join(directory, 'erasures.jsonl'))
    const erasures = await readErasures(list, system.roles.keys.search)
    const { merchant_id } = system
    expect(erasures.includes({ kind: 'payment', merchant_id, id: payment.paymentId })).toBe(true)
    const again = await erase({ case: 'paymentId', value: payment.paymentId })
    expect(again?.paymentIds).toEqual([])
  })

  test('is not erased while a payment of the person is open', async () => {
    const email = 'open.person@planted.example.org'
    const [paid, open] = [await paidDeposit(email), await depositOf(1_000_905n, email)]
    const merchantId = system.merchant_id
    for (const person of [
      { case: 'paymentId', value: open.paymentId },
      { case: 'email', value: email },
    ] as const)
      await expect(clients().erasure.erasePerson({ merchantId, person })).rejects.toMatchObject({
        code: 8801,
      })
    expect((await system.payment(paid.paymentId)).eraseTime).toBeUndefined()
    const other = { case: 'paymentId', value: paid.paymentId } as const
    await expect(clients().erasure.erasePerson({ merchantId: '1', person: other })).rejects.toMatchObject({
      code: 6010,
    })
  })

  test('is found by its e-mail address in any case, with all its payments', async () => {
    const email = 'many.payments@planted.example.org'
    const paid = [await paidDeposit(email), await paidDeposit(email)]
    const stranger = await paidDeposit('stranger@planted.example.org')
    const answer = await erase({ case: 'email', value: ' Many.Payments@PLANTED.example.org' })
    expect(new Set(answer?.paymentIds)).toEqual(new Set(paid.map(({ paymentId }) => paymentId)))
    expect((await system.payment(stranger.paymentId)).details?.payer?.email).toBe(
      'stranger@planted.example.org',
    )
  })

  test('is erased in the ticket of its payment', async () => {
    const payment = await paidDeposit('ticket@planted.example.org')
    const scope = { merchantId: system.merchant_id, environment: Environment.TEST }
    const tickets = system.roles.client(MerchantTicketService, 'gateway')
    const { ticket } = await tickets.createTicket({
      ...scope,
      cId: uuidv7(),
      payloadHash: 'h',
      title: 'Zeldaplanted did not pay',
      description: 'Her number is 919812345670',
      category: TicketCategory.OTHER,
      priority: TicketPriority.MEDIUM,
      paymentCId: payment.cId,
    })
    const operator = system.roles.client(TicketService, 'backoffice')
    const ticketId = ticket?.ticketId ?? ''
    await operator.answerTicket({ ticketId, body: 'Dear Zeldaplanted', operationId: uuidv7() })
    await erase({ case: 'paymentId', value: payment.paymentId })
    const erased = await eventually(
      async () => (await operator.getTicket({ ticketId })).ticket,
      (seen) => seen?.title === '[erased]',
    )
    expect(erased?.description).toBe('[erased]')
    await eventually(
      async () => (await operator.listTicketComments({ ticketId })).comments,
      (comments = []) => comments.length === 1 && comments[0]?.body === '[erased]',
    )
  })
})
