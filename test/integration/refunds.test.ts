import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { BalanceService } from '#gen/multihub/balances/v1/balance_service_pb.ts'
import { Environment } from '#gen/multihub/common/v1/environment_pb.ts'
import { EndpointService } from '#gen/multihub/merchants/v1/endpoint_service_pb.ts'
import { RefundService } from '#gen/multihub/support/v1/refund_service_pb.ts'
import { PAYMENT_EVENTS, SUPPORT_EVENTS } from '#lib/contract/events.ts'
import { eventually } from '../support/eventually.ts'
import type { PublicResponse } from '../support/public-client.ts'
import { type ReceivedCallback, type Receiver, startReceiver } from '../support/receiver.ts'
import { type SupportClient, type SupportSystem, startSupport } from './support.fixture.ts'

let system: SupportSystem
let receiver: Receiver
let shop: SupportClient
beforeAll(async () => {
  receiver = await startReceiver()
  system = await startSupport()
  shop = await newShop()
})
afterAll(async () => {
  await system[Symbol.asyncDispose]()
  await receiver.stop()
})

/** A merchant with an endpoint that gets every event. */
async function newShop(): Promise<SupportClient> {
  const client = await system.newMerchant()
  await system.operator(EndpointService).createEndpoint({
    merchantId: client.merchant_id,
    environment: Environment.TEST,
    url: receiver.url,
    events: [...PAYMENT_EVENTS, ...SUPPORT_EVENTS],
  })
  return client
}

const operator = () => system.operator(RefundService)

const request = (c_id: string, more: object = {}, of = shop): Promise<PublicResponse> =>
  of.call('refund.request', { identifiers: { c_id: randomUUID() }, payment: { c_id }, ...more })

const codeOf = (call: Promise<unknown>): Promise<unknown> =>
  call.then(
    () => undefined,
    ({ code }) => code,
  )

/** What a refusal says, without the parts that differ between any two responses. */
const refusalOf = ({ http_status, body }: PublicResponse): object => ({ http_status, error: body.error })

// biome-ignore lint/suspicious/noExplicitAny: a test reads any part of the payment
async function statusOf(c_id: string): Promise<any> {
  const { body } = await shop.call('payment.status', { payment: { identifiers: { c_id } } })
  return body.result.payment
}

/**
 * A deposit that was paid and credited: its event comes after the ledger entry (P9). Its last digits decide how a refund of
 * it ends.
 */
async function paidDeposit(
  value = 1_000_908,
  of = shop,
): Promise<{ readonly c_id: string; readonly h_id: string }> {
  const identifiers = await of.deposit(value)
  await callback(`${identifiers.h_id}:payment.completed`)
  return identifiers
}

async function balance(of = shop): Promise<{ available: bigint; held: bigint }> {
  const { balances } = await system
    .operator(BalanceService)
    .getBalances({ merchantId: of.merchant_id, environment: Environment.TEST })
  const { available = 0n, held = 0n } = balances[0] ?? {}
  return { available, held }
}

function refundStatus(h_id: string): Promise<string> {
  return shop.call('refund.get', { identifiers: { h_id } }).then(({ body }) => body.result.status as string)
}

const waitForRefund = (h_id: string, status: string): Promise<string> =>
  eventually(
    () => refundStatus(h_id),
    (current) => current === status,
  )

function callbacksOf(h_id: string): readonly ReceivedCallback[] {
  return receiver.callbacks.filter(({ body }) => body.id.startsWith(h_id))
}

/** Waits for a callback with this id, and returns its `data.result`. */
async function callback(id: string): Promise<object | undefined> {
  const find = async () => receiver.callbacks.find(({ body }) => body.id === id)
  return (await eventually(find, (found) => found !== undefined))?.body.data.result
}

/** The resource that a callback is about, whatever its kind. */
// biome-ignore lint/suspicious/noExplicitAny: a test reads any part of the resource
function resourceOf({ body }: ReceivedCallback): any {
  return Object.values(body.data.result)[0]
}

describe('refund.request', () => {
  // S7, E15
  test('reserves an amount of a payment, and refund.get shows the refund by either identifier', async () => {
    const { c_id, h_id } = await shop.deposit()
    const payment = { c_id, h_id }
    const params = {
      identifiers: { c_id: 'r-1' },
      payment: { h_id: payment.h_id },
      amount: '400',
      reason: 'late',
    }
    const { http_status, body } = await shop.call('refund.request', params)
    expect(http_status).toBe(200)
    const refund = body.result
    expect(refund).toEqual({
      identifiers: { c_id: 'r-1', h_id: expect.stringMatching(/^[0-9a-f-]{36}$/) },
      payment,
      amount: '400',
      currency: 'INR',
      status: 'pending',
      reason: 'late',
      created_at: expect.any(String),
      updated_at: refund.created_at,
    })
    for (const identifiers of [{ c_id: 'r-1' }, { h_id: refund.identifiers.h_id }]) {
      expect((await shop.call('refund.get', { identifiers })).body.result).toEqual(refund)
    }
    const requested = await callback(`${refund.identifiers.h_id}:refund.requested`)
    const { reason: _, ...announced } = refund
    expect(requested).toEqual({ refund: announced })
  })

  // S8
  test('is for all that remains when it names no amount', async () => {
    const { c_id } = await shop.deposit()
    expect((await request(c_id)).body.result.amount).toBe('1000908')
  })

  // S3
  test('makes one refund for repetitions of a request, also at the same time', async () => {
    const { c_id } = await shop.deposit()
    const params = { identifiers: { c_id: randomUUID() }, payment: { c_id }, amount: '5' }
    const send = (): Promise<PublicResponse> => shop.call('refund.request', params)
    const responses = await Promise.all(Array.from({ length: 10 }, send))
    const again = await send()
    for (const { body } of responses) expect(body.result).toEqual(again.body.result)
    const other = await shop.call('refund.request', { ...params, amount: '6' })
    expect(other).toMatchObject({ http_status: 409, body: { error: { code: 1013 } } })
  })

  // S3
  test('frees its c_id when it is refused', async () => {
    const identifiers = { c_id: randomUUID() }
    const refused = await shop.call('refund.request', { identifiers, payment: { c_id: 'unknown' } })
    expect(refused).toMatchObject({ http_status: 404, body: { error: { code: 10001 } } })
    const { c_id } = await shop.deposit()
    expect((await shop.call('refund.request', { identifiers, payment: { c_id } })).http_status).toBe(200)
  })

  // S8
  test('of many at once for one payment, accepts exactly one', async () => {
    const { c_id } = await shop.deposit()
    const decide = async (): Promise<number | undefined> => {
      const params = { identifiers: { c_id: randomUUID() }, payment: { c_id }, amount: '600000' }
      const send = async () => (await shop.call('refund.request', params)).body.error?.code
      // On a slow machine, 50 writers of one payment may take longer than a request has.
      return eventually(send, (code) => code !== 2002)
    }
    const codes = await Promise.all(Array.from({ length: 50 }, decide))
    expect(codes.filter((code) => code === undefined)).toHaveLength(1)
    expect(codes.filter((code) => code === 11005)).toHaveLength(49)
  })

  // S8, in the order of the refusals
  test('refuses what the payment does not permit, with the first code of the order', async () => {
    const declined = await shop.deposit(1_000_901)
    const { c_id } = await shop.deposit()
    expect((await request('unknown')).body.error.code).toBe(10001)
    expect((await request(declined.c_id)).body.error.code).toBe(11002)
    const excess = { code: 11004, details: { remaining_amount: '1000908' } }
    expect(await request(c_id, { amount: '1000909' })).toMatchObject({ body: { error: excess } })
    const { body } = await request(c_id, { amount: '1' })
    expect((await request(c_id, { amount: '9223372036854775807' })).body.error.code).toBe(11005)
    await operator().approveRefund({ refundId: body.result.identifiers.h_id })
    await waitForRefund(body.result.identifiers.h_id, 'completed')
    const { error } = (await request(c_id, { amount: '1000908' })).body
    expect([error.code, error.details]).toEqual([11004, { remaining_amount: '1000907' }])
    expect((await request(c_id, { amount: '1000907' })).http_status).toBe(200)
  })

  // E4, E5, E6, S1
  test.each([
    ['a number as amount', { amount: 5 }, 1005, 'params.amount'],
    ['an amount of zero', { amount: '0' }, 11003, 'params.amount'],
    ['a leading zero', { amount: '0100' }, 11003, 'params.amount'],
    ['an amount above 64 bits', { amount: '9223372036854775808' }, 11003, 'params.amount'],
    ['two identifiers of the payment', { payment: { c_id: 'a', h_id: 'b' } }, 9000, 'params.payment'],
    ['no identifier of the payment', { payment: {} }, 1005, 'params.payment'],
    ['a long reason', { reason: 'x'.repeat(501) }, 9000, 'params.reason'],
    ['a currency', { currency: 'INR' }, 9000, 'params.currency'],
    ['a bad amount of an unknown field', { amount: '0', merchant_id: '1' }, 9000, 'params.merchant_id'],
  ])('refuses %s', async (_what, more, code, description) => {
    const { body } = await request('order', more)
    expect(body.error).toMatchObject({ code, details: { description } })
  })
})

describe('an approved refund', () => {
  // S9, P6, P9, P10, P11, S12
  test('is paid by the provider of the deposit, changes the payment, and is announced', async () => {
    const { c_id, h_id } = await paidDeposit()
    const before = await balance()
    const refund_id = (await request(c_id, { amount: '400' })).body.result.identifiers.h_id
    const { refund } = await operator().approveRefund({ refundId: refund_id })
    expect(refund?.refundId).toBe(refund_id)
    await waitForRefund(refund_id, 'completed')
    const partial = await statusOf(c_id)
    expect(partial.status).toMatchObject({ status: 'partially_refunded', final: true, success: true })
    expect(partial.status.history.at(-1)).toMatchObject({
      status: 'partially_refunded',
      amount: { value: 400, currency: 'INR' },
    })
    expect(partial.operations).toMatchObject([
      { operation_type: 'deposit', status: { status: 'success' }, amount: { value: 1_000_908 } },
      { id: refund_id, operation_type: 'refund', status: { status: 'success' }, amount: { value: 400 } },
    ])
    expect(await balance()).toEqual({ available: before.available - 400n, held: before.held })

    const rest = (await request(c_id)).body.result
    expect(rest.amount).toBe('1000508')
    await operator().approveRefund({ refundId: rest.identifiers.h_id })
    await waitForRefund(rest.identifiers.h_id, 'completed')
    const whole = await statusOf(c_id)
    expect(whole.status.status).toBe('refunded')
    const paid = { value: 1_000_908, currency: 'INR' }
    const refunds = [{ value: 400 }, { value: 1_000_508 }]
    expect(whole.status.history).toMatchObject([paid, paid, ...refunds].map((amount) => ({ amount })))
    expect(whole.operations).toHaveLength(3)
    expect(whole.timestamps.finished).toBe(partial.timestamps.finished)
    expect((await request(c_id)).body.error.code).toBe(11002)

    await callback(`${refund_id}:refund.status_changed:2`)
    const changes = callbacksOf(refund_id).map((one) => [one.body.id, resourceOf(one).status])
    expect(Object.fromEntries(changes)).toEqual({
      [`${refund_id}:refund.requested`]: 'pending',
      [`${refund_id}:refund.status_changed:1`]: 'approved',
      [`${refund_id}:refund.status_changed:2`]: 'completed',
    })
    const refunded = await eventually(
      async () => callbacksOf(h_id).filter(({ body }) => body.id === `${h_id}:payment.refunded`),
      (found) => found?.length === 2,
    )
    // P10: each shows the payment as it was then, with the earlier refunds.
    const shown = refunded.map(resourceOf).sort((a, b) => a.operations.length - b.operations.length)
    expect(shown.map(({ status, operations }) => ({ status, operations }))).toEqual([
      { status: partial.status, operations: partial.operations },
      { status: whole.status, operations: whole.operations },
    ])
  })

  // S9; spec of the sandbox: 911
  test('that the provider refuses gives the amount and the money back', async () => {
    const { c_id } = await paidDeposit(1_000_911)
    const before = await balance()
    const refund_id = (await request(c_id)).body.result.identifiers.h_id
    await operator().approveRefund({ refundId: refund_id })
    await waitForRefund(refund_id, 'failed')
    expect(await balance()).toEqual(before)
    const payment = await statusOf(c_id)
    expect(payment.status.status).toBe('success')
    expect(payment.operations[1]).toMatchObject({ status: { status: 'error', error: 6044 } })
    expect((await request(c_id)).http_status).toBe(200)
  })

  // 912: pending, then a callback; 914: the answer is lost, and a poll finds the refund
  test.each([1_000_912, 1_000_914])('of a deposit of %d is completed by a later report', async (value) => {
    const { c_id } = await paidDeposit(value)
    const before = await balance()
    const refund_id = (await request(c_id, { amount: '7' })).body.result.identifiers.h_id
    await operator().approveRefund({ refundId: refund_id })
    await waitForRefund(refund_id, 'completed')
    expect(await balance()).toEqual({ available: before.available - 7n, held: before.held })
  })
})

describe('the operator', () => {
  // S9
  test('cannot approve a refund without the funds; it stays pending until there are some', async () => {
    const poor = await newShop()
    const { c_id } = await paidDeposit(1_000_908, poor)
    const adjust = (amount: bigint, operationId: string) =>
      system.operator(BalanceService).adjust({
        merchantId: poor.merchant_id,
        environment: Environment.TEST,
        currency: 'INR',
        amount: { minor: amount, currency: 'INR' },
        reason: 'test',
        operationId,
      })
    await adjust(-1_000_000n, 'take')
    const refundId = (await request(c_id, {}, poor)).body.result.identifiers.h_id
    expect(await codeOf(operator().approveRefund({ refundId }))).toBe(6004)
    expect(await codeOf(operator().approveRefund({ refundId }))).toBe(6004)
    expect((await poor.call('refund.get', { identifiers: { h_id: refundId } })).body.result.status).toBe(
      'pending',
    )
    await adjust(1_000_000n, 'give')
    await operator().approveRefund({ refundId })
    await eventually(
      () => balance(poor),
      (current) => current?.available === 0n && current.held === 0n,
    )
  })

  // S7
  test.each([
    ['rejects', 'rejected'],
    ['cancels', 'canceled'],
  ] as const)('%s a pending refund, which gives the amount back', async (verb, status) => {
    const { c_id } = await shop.deposit()
    const refundId = (await request(c_id)).body.result.identifiers.h_id
    const close = () =>
      verb === 'rejects'
        ? operator().rejectRefund({ refundId, reason: 'no' })
        : operator().cancelRefund({ refundId, reason: 'no' })
    const other = () =>
      verb === 'rejects' ? operator().cancelRefund({ refundId }) : operator().rejectRefund({ refundId })
    const { refund } = await close()
    expect(refund?.operatorReason).toBe('no')
    expect((await close()).refund).toEqual(refund)
    expect(await codeOf(other())).toBe(8801)
    expect(await codeOf(operator().approveRefund({ refundId }))).toBe(8801)
    const { body } = await shop.call('refund.get', { identifiers: { h_id: refundId } })
    expect(body.result).toMatchObject({ status })
    expect(JSON.stringify(body)).not.toContain('operator')
    expect((await request(c_id)).http_status).toBe(200)
    await callback(`${refundId}:refund.status_changed:1`)
  })

  test('gets 11001 for a refund that does not exist, and 8801 for closing an approved one', async () => {
    expect(await codeOf(operator().approveRefund({ refundId: randomUUID() }))).toBe(11001)
    const { c_id } = await paidDeposit(1_000_912)
    const refundId = (await request(c_id)).body.result.identifiers.h_id
    const approvals = await Promise.all(
      Array.from({ length: 5 }, () => operator().approveRefund({ refundId })),
    )
    expect(approvals).toHaveLength(5)
    expect(await codeOf(operator().cancelRefund({ refundId }))).toBe(8801)
    await waitForRefund(refundId, 'completed')
  })
})

describe('another merchant', () => {
  // S8; spec: Support methods, 6
  test('gets the same refusals for a refund and a payment as for ones that do not exist', async () => {
    const other = await system.newMerchant()
    const payment = await shop.deposit()
    const { c_id, h_id } = (await request(payment.c_id)).body.result.identifiers
    const unknown = await other.call('refund.get', { identifiers: { h_id: randomUUID() } })
    expect(unknown).toMatchObject({ http_status: 404, body: { error: { code: 11001 } } })
    for (const identifiers of [{ c_id }, { h_id }]) {
      expect(refusalOf(await other.call('refund.get', { identifiers }))).toEqual(refusalOf(unknown))
    }
    const about = (reference: object) =>
      other.call('refund.request', { identifiers: { c_id: randomUUID() }, payment: reference })
    for (const reference of [{ c_id: payment.c_id }, { h_id: payment.h_id }]) {
      expect(refusalOf(await about(reference))).toEqual(refusalOf(await about({ c_id: 'unknown' })))
    }
  })
})
