import { createHash, randomUUID } from 'node:crypto'
import { timestampFromDate } from '@bufbuild/protobuf/wkt'
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { AttachmentStatus } from '#gen/multihub/attachments/v1/attachment_pb.ts'
import { AttachmentService } from '#gen/multihub/attachments/v1/attachment_service_pb.ts'
import { BalanceService } from '#gen/multihub/balances/v1/balance_service_pb.ts'
import { VerificationService } from '#gen/multihub/balances/v1/verification_service_pb.ts'
import { Environment } from '#gen/multihub/common/v1/environment_pb.ts'
import { EndpointService } from '#gen/multihub/merchants/v1/endpoint_service_pb.ts'
import { type Chargeback, ChargebackStatus } from '#gen/multihub/support/v1/chargeback_pb.ts'
import { ChargebackService } from '#gen/multihub/support/v1/chargeback_service_pb.ts'
import { RefundService } from '#gen/multihub/support/v1/refund_service_pb.ts'
import { PAYMENT_EVENTS, SUPPORT_EVENTS } from '#lib/contract/events.ts'
import { eventually } from '../support/eventually.ts'
import { type Receiver, startReceiver } from '../support/receiver.ts'
import { transfer } from './attachments.fixture.ts'
import { type SupportClient, type SupportSystem, startSupport } from './support.fixture.ts'

let system: SupportSystem
let receiver: Receiver
let shop: SupportClient
beforeAll(async () => {
  receiver = await startReceiver()
  system = await startSupport()
  shop = await system.newMerchant()
  await system.operator(EndpointService).createEndpoint({
    merchantId: shop.merchant_id,
    environment: Environment.TEST,
    url: receiver.url,
    events: [...PAYMENT_EVENTS, ...SUPPORT_EVENTS],
  })
})
afterAll(async () => {
  await system[Symbol.asyncDispose]()
  await receiver.stop()
})

const chargebacks = () => system.operator(ChargebackService)
const refunds = () => system.operator(RefundService)

const codeOf = (call: Promise<unknown>): Promise<unknown> =>
  call.then(
    () => undefined,
    ({ code }) => code,
  )

/** Repeats a call under its key until it succeeds or exceeds the cap: on a busy machine, one call may end without its outcome. */
const decision = (call: () => Promise<unknown>): Promise<unknown> =>
  eventually(
    () => codeOf(call()),
    (code) => code === undefined || code === 11004,
  )

/** A deposit that was paid and credited: its event comes after the ledger entry (P9). */
async function paidDeposit(): Promise<{ readonly c_id: string; readonly h_id: string }> {
  const identifiers = await shop.deposit()
  const id = `${identifiers.h_id}:payment.completed`
  await eventually(
    async () => receiver.callbacks.some(({ body }) => body.id === id),
    (found) => found === true,
  )
  return identifiers
}

async function open(
  paymentId: string,
  minor: bigint,
  more: {
    readonly operationId?: string
    readonly currency?: string
    readonly deadline?: Date
    readonly reasonCode?: string
  } = {},
): Promise<Chargeback> {
  const { operationId = randomUUID(), currency = '', deadline, reasonCode = '10.4' } = more
  const amount = { minor, currency }
  const { chargeback } = await chargebacks().openChargeback({
    paymentId,
    amount,
    reasonCode,
    deadlineAt: deadline && timestampFromDate(deadline),
    operationId,
  })
  if (!chargeback) throw new Error('the response has no chargeback')
  return chargeback
}

const request = (c_id: string, amount?: string) =>
  shop.call('refund.request', { identifiers: { c_id: randomUUID() }, payment: { c_id }, amount })

async function requestOf(c_id: string, amount?: string): Promise<string> {
  const { body } = await request(c_id, amount)
  return body.result.identifiers.h_id
}

const waitForRefund = (h_id: string, status: string): Promise<unknown> =>
  eventually(
    () => shop.call('refund.get', { identifiers: { h_id } }),
    (response) => response?.body.result.status === status,
  )

async function available(): Promise<bigint> {
  const owner = { merchantId: shop.merchant_id, environment: Environment.TEST }
  const { balances } = await system.operator(BalanceService).getBalances(owner)
  return balances[0]?.available ?? 0n
}

const get = (h_id: string, of = shop) => of.call('chargeback.get', { identifiers: { h_id } })

// S10, S12, B2
test('takes its amount at once, also below zero, is shown and announced, and is credited back when it is won', async () => {
  const payment = await paidDeposit()
  const before = await available()
  const deadline = new Date('2027-01-01T00:00:00.000Z')
  const { chargeback } = await chargebacks().openChargeback({
    paymentId: payment.h_id,
    amount: { minor: 900n, currency: 'INR' },
    reasonCode: '10.4',
    deadlineAt: timestampFromDate(deadline),
  })
  const h_id = chargeback?.chargebackId ?? ''
  expect(await available()).toBe(before - 900n)
  const { c_id } = payment
  const shown = (await get(h_id)).body.result
  expect(shown).toEqual({
    identifiers: { h_id },
    payment: { c_id, h_id: payment.h_id },
    amount: 900,
    currency: 'INR',
    reason_code: '10.4',
    status: 'open',
    deadline_at: deadline.toISOString(),
    history: [{ status: 'open', created: shown.created_at }],
    created_at: expect.any(String),
    updated_at: shown.created_at,
  })
  const { history: _, ...announced } = shown
  const created = async () => receiver.callbacks.find(({ body }) => body.id === `${h_id}:chargeback.created`)
  const { body } = await eventually(created, (found) => found !== undefined).then(
    (found) => found ?? { body: undefined },
  )
  expect(body?.data.result).toEqual({ chargeback: announced })

  const move = (status: ChargebackStatus, note = '') =>
    chargebacks().moveChargeback({ chargebackId: h_id, status, note })
  await move(ChargebackStatus.UNDER_REVIEW, 'the bank reviews it')
  await Promise.all(Array.from({ length: 5 }, () => move(ChargebackStatus.WON)))
  expect(await available()).toBe(before)
  expect(await codeOf(move(ChargebackStatus.LOST))).toBe(8801)
  const history = (await get(h_id)).body.result.history
  expect(history).toMatchObject([
    { status: 'open' },
    { status: 'under_review', note: 'the bank reviews it' },
    { status: 'won' },
  ])
})

// S8, S9: a chargeback that comes between a request and its approval
test('comes before the approval of a refund, which is refused then', async () => {
  const { c_id, h_id } = await shop.deposit()
  const refundId = await requestOf(c_id)
  await open(h_id, 900n)
  expect(await codeOf(refunds().approveRefund({ refundId }))).toBe(11004)
  await refunds().rejectRefund({ refundId })
  expect((await request(c_id, '1000009')).body.error.code).toBe(11004)
  const rest = await requestOf(c_id)
  await refunds().approveRefund({ refundId: rest })
  await waitForRefund(rest, 'completed')
  expect((await request(c_id)).body.error.code).toBe(11002)
})

// S8: the other order
test('is refused when refunds have given its amount back', async () => {
  const { c_id, h_id } = await shop.deposit()
  const refundId = await requestOf(c_id, '1000000')
  await refunds().approveRefund({ refundId })
  await waitForRefund(refundId, 'completed')
  expect(await codeOf(open(h_id, 909n))).toBe(11004)
  const { chargebackId } = await open(h_id, 908n)
  expect((await request(c_id)).body.error.code).toBe(11002)
  await chargebacks().moveChargeback({ chargebackId, status: ChargebackStatus.WON })
  expect((await request(c_id)).body.result.amount).toBe('908')
})

// S8: with requests, approvals and chargebacks at once
test('of many at once with refunds, never exceeds the payment, and the ledger agrees', async () => {
  const before = await available()
  const { c_id, h_id } = await shop.deposit()
  const refund = async (): Promise<bigint> => {
    const { body } = await request(c_id, '300000')
    if (!body.success) return 0n
    const refundId = body.result.identifiers.h_id
    const code = await decision(() => refunds().approveRefund({ refundId }))
    if (code === undefined) return 300_000n
    await refunds().cancelRefund({ refundId })
    return 0n
  }
  const charge = async (): Promise<bigint> => {
    const operationId = randomUUID()
    return (await decision(() => open(h_id, 250_000n, { operationId }))) === undefined ? 250_000n : 0n
  }
  const given = await Promise.all(
    Array.from({ length: 20 }, (_, index) => (index % 2 === 0 ? refund() : charge())),
  )
  const total = given.reduce((sum, amount) => sum + amount, 0n)
  expect(total).toBeLessThanOrEqual(1_000_908n)
  expect(total).toBeGreaterThan(500_000n)
  await eventually(available, (current) => current === before + 1_000_908n - total)
  const verifications = system.operator(VerificationService)
  await verifications.startVerification({ fromFirstBatch: true })
  const ended = await eventually(
    () => verifications.getVerification({}),
    (response) => response?.verification?.endTime !== undefined,
  )
  expect(ended.verification?.consistent).toBe(true)
})

// S3
test('opens once per operation_id, and refuses the same operation_id for another chargeback with 1013', async () => {
  const { h_id } = await paidDeposit()
  const before = await available()
  const operationId = randomUUID()
  const opened = await Promise.all(Array.from({ length: 5 }, () => open(h_id, 5n, { operationId })))
  expect(new Set(opened.map(({ chargebackId }) => chargebackId)).size).toBe(1)
  expect((await open(h_id, 5n, { operationId })).chargebackId).toBe(opened[0]?.chargebackId)
  expect(await available()).toBe(before - 5n)
  expect(await codeOf(open(h_id, 6n, { operationId }))).toBe(1013)
  expect(await codeOf(open(h_id, 5n, { operationId, deadline: new Date() }))).toBe(1013)
  expect(await codeOf(open(h_id, 5n, { operationId, reasonCode: '10.5' }))).toBe(1013)
  const { h_id: other } = await paidDeposit()
  const then = await available()
  expect(await codeOf(open(other, 5n, { operationId }))).toBe(1013)
  expect(await available()).toBe(then)
})

// E5, P2, S10
test('is refused with 9000 for a control character in its reason code, operation_id or note, and with 1005 without one', async () => {
  const { h_id } = await shop.deposit()
  const amount = { minor: 5n, currency: '' }
  const opening = { paymentId: h_id, amount, reasonCode: '10.4', operationId: randomUUID() }
  for (const text of ['x\0', 'x\n', 'x'.repeat(129)]) {
    expect(await codeOf(chargebacks().openChargeback({ ...opening, reasonCode: text }))).toBe(9000)
    expect(await codeOf(chargebacks().openChargeback({ ...opening, operationId: text }))).toBe(9000)
  }
  // O12
  await expect(chargebacks().openChargeback({ ...opening, operationId: '' })).rejects.toMatchObject({
    code: 1005,
    details: { description: 'operation_id' },
  })
  const { chargebackId } = await open(h_id, 5n)
  const move = (note: string) =>
    codeOf(chargebacks().moveChargeback({ chargebackId, status: ChargebackStatus.LOST, note }))
  expect(await move('a\0b')).toBe(9000)
  expect(await move('two\nlines')).toBeUndefined()
})

/** A file of the operator for a chargeback of the shop, which is ready. Returns its id. */
async function evidenceFile(): Promise<string> {
  const content = Buffer.from('a letter of the bank\n')
  const attachments = system.operator(AttachmentService)
  const owner = { merchantId: shop.merchant_id, environment: Environment.TEST }
  const file = {
    name: 'letter.txt',
    mimeType: 'text/plain',
    sizeBytes: BigInt(content.length),
    sha256: createHash('sha256').update(content).digest('hex'),
  }
  const prepared = await attachments.prepareEvidence({ ...owner, file, operationId: randomUUID() })
  const attachmentId = prepared.attachment?.attachmentId ?? ''
  const url = `${system.roles.urls['base_url']}${prepared.upload?.path}`
  await transfer(url, { method: 'PUT', headers: { 'content-type': 'text/plain' }, content })
  await attachments.finalizeEvidence({ ...owner, attachmentId, operationId: randomUUID() })
  await eventually(
    () => attachments.getAttachment({ ...owner, attachmentId }),
    (found) => found?.attachment?.status === AttachmentStatus.READY,
  )
  return attachmentId
}

// S10
test('shows the evidence that the operator adds, once per file', async () => {
  const { h_id } = await shop.deposit()
  const [one, other] = [await open(h_id, 5n), await open(h_id, 5n)]
  const attachmentId = await evidenceFile()
  const add = ({ chargebackId }: Chargeback, id: string) =>
    chargebacks().addEvidence({ chargebackId, attachmentId: id })
  await Promise.all(Array.from({ length: 3 }, () => add(one, attachmentId)))
  const list = (of = shop) =>
    of.call('chargeback.attachments.list', { chargeback: { h_id: one.chargebackId } })
  expect((await list()).body.result).toEqual({
    items: [
      {
        identifiers: { h_id: attachmentId },
        name: 'letter.txt',
        mime_type: 'text/plain',
        size: 21,
        created_at: expect.any(String),
      },
    ],
    next_cursor: null,
  })
  const link = await shop.call('attachment.get', { attachment: { h_id: attachmentId } })
  expect(link.body.result.download.url).toEqual(expect.any(String))
  expect(await codeOf(add(other, attachmentId))).toBe(9000)
  expect(await codeOf(add(other, randomUUID()))).toBe(13001)
  expect((await list(await system.newMerchant())).body.error.code).toBe(12001)
})

test('is refused for a payment that no customer paid, and in another currency', async () => {
  const declined = await shop.deposit(1_000_901)
  const paid = await shop.deposit()
  expect(await codeOf(open(randomUUID(), 5n))).toBe(10001)
  expect(await codeOf(open(declined.h_id, 5n))).toBe(11002)
  expect(await codeOf(open(paid.h_id, 5n, { currency: 'MXN' }))).toBe(6002)
  expect(await codeOf(open(paid.h_id, 0n))).toBe(6001)
})

// spec: Support methods, 6
test('of another merchant is answered like one that does not exist', async () => {
  const other = await system.newMerchant()
  const { h_id } = await shop.deposit()
  const { chargebackId } = await open(h_id, 5n)
  const [foreign, unknown] = [await get(chargebackId, other), await get(randomUUID(), other)]
  expect(unknown).toMatchObject({ http_status: 404, body: { error: { code: 12001 } } })
  expect([foreign.http_status, foreign.body.error]).toEqual([unknown.http_status, unknown.body.error])
})
