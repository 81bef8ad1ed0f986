import { createHmac } from 'node:crypto'
import { create, toBinary } from '@bufbuild/protobuf'
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { Environment } from '#gen/multihub/common/v1/environment_pb.ts'
import { MerchantEventSchema } from '#gen/multihub/events/v1/event_pb.ts'
import { DeliveryService } from '#gen/multihub/notifier/v1/delivery_service_pb.ts'
import { type Payment, PaymentStatus } from '#gen/multihub/payments/v1/payment_pb.ts'
import { PaymentService } from '#gen/multihub/payments/v1/payment_service_pb.ts'
import { uuidv7 } from '#lib/base/ids.ts'
import { useClock } from '#lib/base/time.ts'
import { createAdjustableClock } from '../support/adjustable-clock.ts'
import { eventually } from '../support/eventually.ts'
import { type ReceivedCallback, type Receiver, startReceiver } from '../support/receiver.ts'
import { createOtherMerchant, type ResendSystem, startResend } from './resend.fixture.ts'

const { CREATED, PROCESSING, SUCCESS, DECLINED } = PaymentStatus
const AMOUNT = 1_000_000n

let system: ResendSystem
beforeAll(async () => {
  system = await startResend()
})
afterAll(async () => {
  await system[Symbol.asyncDispose]()
})

/** The fields of a callback that these tests check. */
function fieldsOf({ raw, headers }: ReceivedCallback) {
  const { id, created_at, data } = JSON.parse(raw.toString())
  return { id, created_at, data, payment: data.result.payment, delivery_id: headers['x-webhook-id'] }
}

/** Waits for `count` callbacks about a payment, and returns the fields of the last one. */
async function lastCallback(payment: Payment, count: number): Promise<ReturnType<typeof fieldsOf>> {
  const all = await system.waitForCallbacks(payment, count)
  const last = all[count - 1]
  if (!last) throw new Error('a callback is missing')
  return fieldsOf(last)
}

/** Counts the callbacks about a payment. It sends one more and waits for it, so that no earlier one is still being sent. */
async function countCallbacks(payment: Payment): Promise<number> {
  const { deliveryIds } = await system.resend({ hId: payment.hId, operationId: uuidv7() })
  await system.waitForCallback(deliveryIds[0])
  return system.receiver.of(payment.cId).length - 1
}

describe('a notification', () => {
  // P3, P15
  test('describes the payment with its present status, whichever it is', async () => {
    const { payments } = system
    const { provider } = payments
    provider.stopAnswering()
    const c_id = uuidv7()
    const creating = system.createDeposit(AMOUNT, { c_id, accounts: ['acme'] })
    const order = await provider.order(provider.orders() + 1)

    const { payment: created } = await system.notify({ cId: c_id, operationId: 'created' })
    if (!created) throw new Error('no payment was answered')
    expect(created.status).toBe(CREATED)
    const callbacks = (await system.waitForCallbacks(created, 2)).map(fieldsOf)
    // One automatic and one requested callback: the same event under two delivery ids.
    for (const { id, payment } of callbacks) {
      expect(id).toBe(`${created.hId}:payment.created`)
      expect(payment.status).toMatchObject({ status: 'created', final: false })
    }
    expect(new Set(callbacks.map(({ delivery_id }) => delivery_id)).size).toBe(2)
    expect(new Set(callbacks.map(({ data }) => data.request_id)).size).toBe(2)

    provider.answer('pending')
    await creating
    expect((await system.notify({ cId: c_id, operationId: 'processing' })).payment?.status).toBe(PROCESSING)
    const processing = await lastCallback(created, 3)
    expect(processing).toMatchObject({
      id: `${created.hId}:payment.created`,
      payment: { status: { status: 'processing' } },
    })

    await provider.report(order)
    await payments.waitForStatus(created.paymentId, SUCCESS)
    const completed = await lastCallback(created, 4)
    expect((await system.notify({ cId: c_id, operationId: 'success' })).payment?.status).toBe(SUCCESS)
    const again = await lastCallback(created, 5)
    expect(again.id).toBe(completed.id)
    expect(again.payment).toEqual(completed.payment)
    expect(again.delivery_id).not.toBe(completed.delivery_id)
    expect(again.data.request_id).not.toBe(completed.data.request_id)
    expect(Date.parse(again.created_at)).toBeGreaterThan(Date.parse(completed.created_at))
  })

  test('of an expired deposit is payment.failed', async () => {
    const { payment } = await system.createDeposit(AMOUNT + 905n, { expires_in_seconds: 1 })
    await system.payments.waitForStatus(payment.paymentId, DECLINED)
    await system.waitForCallbacks(payment, 2)
    await system.notify({ hId: payment.hId, operationId: 'expired' })
    expect(await lastCallback(payment, 3)).toMatchObject({
      id: `${payment.hId}:payment.failed`,
      payment: { status: { status: 'declined', error: 6011 } },
    })
  })

  test('returns the whole payment, and omits the fields that callbacks omit from the callback', async () => {
    const redirect = { onSuccess: 'https://shop.example.com/ok' }
    const request = { details: { description: 'Order 1', redirect } }
    const { payment } = await system.createDeposit(AMOUNT, { request })
    await system.payments.waitForStatus(payment.paymentId, SUCCESS)
    await system.waitForCallbacks(payment, 2)
    const { payment: returned } = await system.notify({ hId: payment.hId, operationId: 'whole' })
    expect(returned).toEqual(await system.payments.payment(payment.paymentId))
    expect(returned).toMatchObject({ ...request, serviceId: expect.stringMatching(/^[0-9]+$/) })
    const { payment: sent } = await lastCallback(payment, 3)
    for (const field of ['service_id', 'description', 'redirect']) expect(sent).not.toHaveProperty(field)
    expect(sent.receiver).not.toHaveProperty('bank')
    expect(sent.receiver).toHaveProperty('qr_payload')
  })

  test('without an operation_id is sent once for equal requests within a minute, and again in the next minute', async () => {
    const payment = await system.createPaidDeposit()
    const adjustable = createAdjustableClock()
    // The minute must not end during the test.
    adjustable.stopWall()
    const restore = useClock(adjustable)
    try {
      const first = await system.notify({ hId: payment.hId })
      expect(await Promise.all([1, 2, 3].map(() => system.notify({ hId: payment.hId })))).toEqual(
        Array.from({ length: 3 }, () => first),
      )
      expect(await countCallbacks(payment)).toBe(3)
      await system.notify({ hId: payment.hId, payloadHash: 'another payload' })
      expect(await countCallbacks(payment)).toBe(5)
      adjustable.stepWall(60_000)
      await system.notify({ hId: payment.hId })
      expect(await countCallbacks(payment)).toBe(7)
    } finally {
      restore()
    }
  })
})

// P15
describe('a resend', () => {
  test('sends the callback of the final status again: signed, with the same id and a new delivery id', async () => {
    const { payment, secret } = await system.createDeposit(AMOUNT + 908n)
    const [, automatic] = (await system.waitForCallbacks(payment, 2)).map(fieldsOf)
    const { deliveryIds } = await system.resend({ hId: payment.hId, operationId: uuidv7() })
    expect(deliveryIds).toHaveLength(1)
    const callback = await system.waitForCallback(deliveryIds[0])
    expect(fieldsOf(callback)).toMatchObject({ id: automatic?.id, payment: automatic?.payment })
    expect(deliveryIds[0]).not.toBe(automatic?.delivery_id)
    const { 'x-webhook-timestamp': timestamp, 'x-webhook-nonce': nonce } = callback.headers
    const signed = createHmac('sha512', secret).update(`${timestamp}.${nonce}.${deliveryIds[0]}.`)
    expect(callback.headers['x-webhook-signature-v3']).toBe(signed.update(callback.raw).digest('hex'))
  })

  test('before a final status is refused with 8801, queues nothing, and leaves the operation_id unused', async () => {
    const { payment } = await system.createDeposit(AMOUNT + 905n)
    const request = { hId: payment.hId, operationId: uuidv7() }
    await expect(system.resend(request)).rejects.toMatchObject({ code: 8801 })
    await system.waitForCallbacks(payment, 1)
    expect(await system.listDeliveries(payment)).toHaveLength(1)
    const final = await system.createPaidDeposit()
    const other = { ...request, hId: final.hId, payloadHash: 'another payload' }
    expect((await system.resend(other)).deliveryIds).toHaveLength(1)
  })

  test('of a payment with a numeric h_id finds it by that id only', async () => {
    const { payment } = await system.createDeposit(AMOUNT + 908n, { numeric_h_id: true })
    expect(payment.hId).toMatch(/^[0-9]{18}$/)
    await system.payments.waitForStatus(payment.paymentId, SUCCESS)
    const { deliveryIds } = await system.resend({ hId: payment.hId, operationId: uuidv7() })
    expect(fieldsOf(await system.waitForCallback(deliveryIds[0])).id).toBe(`${payment.hId}:payment.completed`)
    for (const hId of [payment.paymentId, payment.cId]) {
      const resent = system.resend({ hId, operationId: uuidv7() })
      await expect(resent).rejects.toMatchObject({ code: 6010 })
    }
  })
})

// P15, S3
describe('an operation_id', () => {
  test('repeated exactly returns the same result and queues nothing', async () => {
    const payment = await system.createPaidDeposit()
    const request = { hId: payment.hId, operationId: uuidv7() }
    const { deliveryIds } = await system.resend(request)
    for (let times = 0; times < 3; times += 1)
      expect((await system.resend(request)).deliveryIds).toEqual(deliveryIds)
    const { payment: notified } = await system.notify(request)
    expect((await system.notify(request)).payment).toEqual(notified)
    await system.waitForCallbacks(payment, 4)
    // Two automatic ones, a resend and a notification: the keys of the two methods are separate.
    expect(await countCallbacks(payment)).toBe(4)
    expect(await system.listDeliveries(payment)).toHaveLength(5)
  })

  test('may be "0", and so may a c_id', async () => {
    const { payment } = await system.createDeposit(AMOUNT + 908n, { c_id: '0' })
    await system.payments.waitForStatus(payment.paymentId, SUCCESS)
    await system.notify({ cId: '0', operationId: '0' })
    expect((await system.resend({ hId: payment.hId, operationId: '0' })).deliveryIds).toHaveLength(1)
  })

  test('repeated after the payment changed returns the first result', async () => {
    const { provider } = system.payments
    provider.stopAnswering()
    const creating = system.createDeposit(AMOUNT, { accounts: ['acme'] })
    const order = await provider.order(provider.orders() + 1)
    provider.answer('pending')
    const { payment } = await creating
    const request = { hId: payment.hId, operationId: uuidv7() }
    const { payment: first } = await system.notify(request)
    expect(first?.status).toBe(PROCESSING)
    await provider.report(order)
    await system.payments.waitForStatus(payment.paymentId, SUCCESS)
    expect((await system.notify(request)).payment).toEqual(first)
  })

  test('used by ten concurrent requests creates one delivery, and all get its id', async () => {
    const payment = await system.createPaidDeposit()
    const request = { hId: payment.hId, operationId: uuidv7() }
    const responses = await Promise.all(Array.from({ length: 10 }, () => system.resend(request)))
    expect(new Set(responses.map(({ deliveryIds }) => deliveryIds.join())).size).toBe(1)
    await Promise.all(Array.from({ length: 10 }, () => system.notify(request)))
    await system.waitForCallbacks(payment, 4)
    expect(await countCallbacks(payment)).toBe(4)
  })

  test.each(['resend', 'notify'] as const)(
    'with another payload is refused with 1013: %s',
    async (method) => {
      const [one, two] = [await system.createPaidDeposit(), await system.createPaidDeposit()]
      const operationId = uuidv7()
      await system[method]({ hId: one.hId, operationId })
      const other = system[method]({ hId: two.hId, operationId, payloadHash: 'another payload' })
      await expect(other).rejects.toMatchObject({ code: 1013, http: 409 })
      expect(await system.listDeliveries(two)).toHaveLength(2)
    },
  )
})

describe('destinations', () => {
  let first: Receiver
  let second: Receiver
  beforeAll(async () => {
    first = await startReceiver()
    second = await startReceiver()
  })
  afterAll(async () => {
    await first.stop()
    await second.stop()
  })

  test('are the endpoints that are subscribed now; without one it is 1003 and nothing is stored', async () => {
    const payment = await system.payments.deposit(AMOUNT + 908n)
    await system.payments.waitForStatus(payment.paymentId, SUCCESS)
    const request = { hId: payment.hId, operationId: uuidv7() }
    const refused = async (): Promise<void> => {
      await expect(system.resend(request)).rejects.toMatchObject({ code: 1003, http: 400 })
      await expect(system.notify(request)).rejects.toMatchObject({ code: 1003, http: 400 })
    }
    await refused()
    await system.createEndpoint(first.url, ['payment.failed', 'payment.created'])
    await refused()
    const one = await system.createEndpoint(first.url)
    await system.setEndpointEnabled(one.endpointId, false)
    await refused()
    expect(await system.listDeliveries(payment)).toEqual([])

    await system.setEndpointEnabled(one.endpointId, true)
    const two = await system.createEndpoint(second.url, ['payment.completed'])
    const { deliveryIds } = await system.resend(request)
    expect(deliveryIds).toHaveLength(2)
    expect(new Set(deliveryIds).size).toBe(2)
    for (const receiver of [first, second]) {
      const [callback] = await expectOne(receiver, payment)
      expect(deliveryIds).toContain(callback?.headers['x-webhook-id'])
    }
    await system.setEndpointEnabled(two.endpointId, false)
    expect((await system.resend(request)).deliveryIds).toEqual(deliveryIds)
    expect((await system.resend({ ...request, operationId: uuidv7() })).deliveryIds).toHaveLength(1)
    await system.setEndpointEnabled(one.endpointId, false)
  })

  test('of a payment with a webhook_url are that URL only', async () => {
    const { endpointId } = await system.createEndpoint(first.url)
    const payment = await system.createPaidDeposit()
    const { deliveryIds } = await system.resend({ hId: payment.hId, operationId: uuidv7() })
    expect(deliveryIds).toHaveLength(1)
    await system.waitForCallback(deliveryIds[0])
    expect(first.of(payment.cId)).toEqual([])
    await system.setEndpointEnabled(endpointId, false)
  })

  async function expectOne(receiver: Receiver, { cId }: Payment): Promise<readonly ReceivedCallback[]> {
    return eventually(
      async () => receiver.of(cId),
      (callbacks) => callbacks?.length === 1,
    )
  }
})

describe('permission', () => {
  const both = ['resend', 'notify'] as const

  test.each(both)('is limited to the merchant of the payment and its environment: %s', async (method) => {
    const { hId } = await system.createPaidDeposit()
    const operationId = uuidv7()
    const merchantId = await createOtherMerchant(system.payments)
    for (const owner of [{ merchantId }, { environment: Environment.PRODUCTION }, { hId: uuidv7() }]) {
      const foreign = system[method]({ hId, operationId, ...owner })
      await expect(foreign).rejects.toMatchObject({ code: 6010, http: 400 })
    }
    const mismatched = system.notify({ hId, cId: 'another', operationId })
    await expect(mismatched).rejects.toMatchObject({ code: 6010 })
  })

  test.each(both)('is checked against the stored route, also for a repetition: %s', async (method) => {
    const { hId, serviceId } = await system.createPaidDeposit()
    const request = { hId, operationId: uuidv7() }
    const policies = [{ serviceIds: ['1'] }, { currencies: ['TRY'] }]
    for (const policy of policies)
      await expect(system[method]({ ...request, policy })).rejects.toMatchObject({ code: 3008, http: 403 })
    await system[method]({ ...request, policy: { serviceIds: [serviceId], currencies: ['INR'] } })
    for (const policy of policies)
      await expect(system[method]({ ...request, policy })).rejects.toMatchObject({ code: 3008 })
  })

  test('lets only the gateway call payments, and only payments and support send events', async () => {
    const { roles } = system.payments
    for (const caller of ['backoffice', 'internal', 'notifier'] as const) {
      const payments = roles.client(PaymentService, caller)
      await expect(payments.notifyPayment({})).rejects.toThrow()
      await expect(payments.resendCallback({})).rejects.toThrow()
    }
    for (const caller of ['backoffice', 'internal', 'gateway'] as const)
      await expect(roles.client(DeliveryService, caller).receiveEvent({})).rejects.toThrow()
    await expect(roles.client(DeliveryService, 'payments').receiveEvent({})).rejects.toMatchObject({
      code: 1005,
    })
    const eventOf = (event: string, eventKey = ''): Uint8Array =>
      toBinary(MerchantEventSchema, create(MerchantEventSchema, { event, eventKey }))
    for (const [caller, sent] of [
      ['support', eventOf('payment.created')],
      ['support', eventOf('refund.requested', 'p-1:success')],
      ['payments', eventOf('payment.completed', 't-1:ticket.created')],
      ['payments', Buffer.from('nonsense')],
    ] as const)
      await expect(roles.client(DeliveryService, caller).receiveEvent({ event: sent })).rejects.toMatchObject(
        {
          code: 9000,
          details: { description: 'event' },
        },
      )
  })
})

describe('an outage', () => {
  test.each(['notifier', 'payments'])('of the store of %s is 2002, and a retry succeeds', async (role) => {
    const { roles } = system.payments
    const payment = await system.createPaidDeposit()
    const request = { hId: payment.hId, operationId: uuidv7() }
    roles.setStoreUnavailable(role, true)
    try {
      await expect(system.resend(request)).rejects.toMatchObject({ code: 2002 })
      await expect(system.notify(request)).rejects.toMatchObject({ code: 2002 })
    } finally {
      roles.setStoreUnavailable(role, false)
    }
    const { deliveryIds } = await system.resend(request)
    await system.notify(request)
    expect(await system.resend(request)).toMatchObject({ deliveryIds })
    await system.waitForCallbacks(payment, 4)
    expect(await countCallbacks(payment)).toBe(4)
  })
})
