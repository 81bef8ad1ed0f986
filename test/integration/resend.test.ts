import { createHmac } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { Environment } from '#gen/multihub/common/v1/environment_pb.ts'
import { DeliveryService } from '#gen/multihub/notifier/v1/delivery_service_pb.ts'
import { type Payment, PaymentStatus } from '#gen/multihub/payments/v1/payment_pb.ts'
import { PaymentService } from '#gen/multihub/payments/v1/payment_service_pb.ts'
import { uuidv7 } from '#lib/platform/ids.ts'
import { useClock } from '#lib/platform/time.ts'
import { eventually } from '../support/eventually.ts'
import { type ReceivedCallback, type Receiver, startReceiver } from '../support/receiver.ts'
import { anotherMerchant, type ResendSystem, startResend } from './resend.fixture.ts'

const { CREATED, PROCESSING, SUCCESS, DECLINED } = PaymentStatus
const AMOUNT = 1_000_000n

let system: ResendSystem
beforeAll(async () => {
  system = await startResend()
})
afterAll(async () => {
  await system[Symbol.asyncDispose]()
})

/** What a test looks at in a callback. */
function seen({ raw, headers }: ReceivedCallback) {
  const { id, created_at, data } = JSON.parse(raw.toString())
  return { id, created_at, data, payment: data.result.payment, delivery_id: headers['x-webhook-id'] }
}

/** The last of so many callbacks about a payment. */
async function lastOf(payment: Payment, count: number): Promise<ReturnType<typeof seen>> {
  const all = await system.callbacks(payment, count)
  const last = all[count - 1]
  if (!last) throw new Error('there is no such callback')
  return seen(last)
}

/** Resends once more, and when that came says how many callbacks about the payment there were before it. */
async function countOf(payment: Payment): Promise<number> {
  const { deliveryIds } = await system.resend({ hId: payment.hId, operationId: uuidv7() })
  await system.callback(deliveryIds[0])
  return system.receiver.of(payment.cId).length - 1
}

describe('a notification', () => {
  test('tells of the present state, whichever it is, with a snapshot of now', async () => {
    const { payments } = system
    const { provider } = payments
    provider.hold()
    const c_id = uuidv7()
    const creating = system.ownDeposit(AMOUNT, { c_id, accounts: ['acme'] })
    const order = await provider.order(provider.orders() + 1)

    const { payment: created } = await system.notify({ cId: c_id, operationId: 'created' })
    if (!created) throw new Error('no payment was answered')
    expect(created.status).toBe(CREATED)
    const told = (await system.callbacks(created, 2)).map(seen)
    // One by itself, one because it was asked for: the same event under two delivery ids.
    for (const { id, payment } of told) {
      expect(id).toBe(`${created.hId}:payment.created`)
      expect(payment.status).toMatchObject({ status: 'created', final: false })
    }
    expect(new Set(told.map(({ delivery_id }) => delivery_id)).size).toBe(2)
    expect(new Set(told.map(({ data }) => data.request_id)).size).toBe(2)

    provider.answer('pending')
    await creating
    expect((await system.notify({ cId: c_id, operationId: 'processing' })).payment?.status).toBe(PROCESSING)
    const processing = await lastOf(created, 3)
    expect(processing).toMatchObject({
      id: `${created.hId}:payment.created`,
      payment: { status: { status: 'processing' } },
    })

    await provider.report(order)
    await payments.reaches(created.paymentId, SUCCESS)
    const completed = await lastOf(created, 4)
    expect((await system.notify({ cId: c_id, operationId: 'success' })).payment?.status).toBe(SUCCESS)
    const again = await lastOf(created, 5)
    expect(again.id).toBe(completed.id)
    expect(again.payment).toEqual(completed.payment)
    expect(again.delivery_id).not.toBe(completed.delivery_id)
    expect(again.data.request_id).not.toBe(completed.data.request_id)
    expect(Date.parse(again.created_at)).toBeGreaterThan(Date.parse(completed.created_at))
  })

  test('of an expired deposit is its failure', async () => {
    const { payment } = await system.ownDeposit(AMOUNT + 905n, { expires_in_seconds: 1 })
    await system.payments.reaches(payment.paymentId, DECLINED)
    await system.callbacks(payment, 2)
    await system.notify({ hId: payment.hId, operationId: 'expired' })
    expect(await lastOf(payment, 3)).toMatchObject({
      id: `${payment.hId}:payment.failed`,
      payment: { status: { status: 'declined', error: 6011 } },
    })
  })

  test('answers the payment whole, and keeps back from the callback what callbacks do not tell', async () => {
    const request = { description: 'Order 1', onSuccess: 'https://shop.example.com/ok' }
    const { payment } = await system.ownDeposit(AMOUNT, { request })
    await system.payments.reaches(payment.paymentId, SUCCESS)
    await system.callbacks(payment, 2)
    const { payment: answered } = await system.notify({ hId: payment.hId, operationId: 'whole' })
    expect(answered).toEqual(await system.payments.payment(payment.paymentId))
    expect(answered).toMatchObject({ description: 'Order 1', serviceId: expect.stringMatching(/^[0-9]+$/) })
    const { payment: told } = await lastOf(payment, 3)
    for (const field of ['service_id', 'description', 'redirect']) expect(told).not.toHaveProperty(field)
    expect(told.receiver).not.toHaveProperty('bank')
    expect(told.receiver).toHaveProperty('qr_payload')
  })

  test('without an operation_id is one for equal requests within a minute, and another in the next', async () => {
    // Five seconds into a minute, so that the test does not see it end.
    let ahead_ms = 65_000 - (Date.now() % 60_000)
    const restore = useClock({
      now_ms: () => Date.now() + ahead_ms,
      monotonic_ms: () => performance.now(),
      after(delay_ms, action) {
        const handle = setTimeout(action, delay_ms)
        return { cancel: () => clearTimeout(handle) }
      },
    })
    try {
      const payment = await system.paidDeposit()
      const first = await system.notify({ hId: payment.hId })
      expect(await Promise.all([1, 2, 3].map(() => system.notify({ hId: payment.hId })))).toEqual(
        Array.from({ length: 3 }, () => first),
      )
      expect(await countOf(payment)).toBe(3)
      await system.notify({ hId: payment.hId, payloadHash: 'the same in other words' })
      expect(await countOf(payment)).toBe(5)
      ahead_ms += 60_000
      await system.notify({ hId: payment.hId })
      expect(await countOf(payment)).toBe(7)
    } finally {
      restore()
    }
  })
})

describe('a resend', () => {
  test('delivers the callback of the end again: signed as ever, its id the same, its delivery fresh', async () => {
    const { payment, secret } = await system.ownDeposit(AMOUNT + 908n)
    const [, automatic] = (await system.callbacks(payment, 2)).map(seen)
    const { deliveryIds } = await system.resend({ hId: payment.hId, operationId: uuidv7() })
    expect(deliveryIds).toHaveLength(1)
    const callback = await system.callback(deliveryIds[0])
    expect(seen(callback)).toMatchObject({ id: automatic?.id, payment: automatic?.payment })
    expect(deliveryIds[0]).not.toBe(automatic?.delivery_id)
    const { 'x-webhook-timestamp': timestamp, 'x-webhook-nonce': nonce } = callback.headers
    const signed = createHmac('sha512', secret).update(`${timestamp}.${nonce}.${deliveryIds[0]}.`)
    expect(callback.headers['x-webhook-signature-v3']).toBe(signed.update(callback.raw).digest('hex'))
  })

  test('before the end is 8801, queues nothing, and leaves the operation_id free', async () => {
    const { payment } = await system.ownDeposit(AMOUNT + 905n)
    const request = { hId: payment.hId, operationId: uuidv7() }
    await expect(system.resend(request)).rejects.toMatchObject({ code: 8801 })
    await system.callbacks(payment, 1)
    expect(await system.deliveries(payment)).toHaveLength(1)
    const ended = await system.paidDeposit()
    const other = { ...request, hId: ended.hId, payloadHash: 'another payload' }
    expect((await system.resend(other)).deliveryIds).toHaveLength(1)
  })

  test('of a payment with a number is known by it, and by nothing else', async () => {
    const { payment } = await system.ownDeposit(AMOUNT + 908n, { numeric_h_id: true })
    expect(payment.hId).toMatch(/^[0-9]{18}$/)
    await system.payments.reaches(payment.paymentId, SUCCESS)
    const { deliveryIds } = await system.resend({ hId: payment.hId, operationId: uuidv7() })
    expect(seen(await system.callback(deliveryIds[0])).id).toBe(`${payment.hId}:payment.completed`)
    for (const hId of [payment.paymentId, payment.cId]) {
      const asked = system.resend({ hId, operationId: uuidv7() })
      await expect(asked).rejects.toMatchObject({ code: 6010 })
    }
  })
})

describe('an operation_id', () => {
  test('repeated exactly gets the same answer and queues nothing', async () => {
    const payment = await system.paidDeposit()
    const request = { hId: payment.hId, operationId: uuidv7() }
    const { deliveryIds } = await system.resend(request)
    for (let times = 0; times < 3; times++)
      expect((await system.resend(request)).deliveryIds).toEqual(deliveryIds)
    const { payment: told } = await system.notify(request)
    expect((await system.notify(request)).payment).toEqual(told)
    await system.callbacks(payment, 4)
    // Two by themselves, a resend, a notification: the two methods keep their keys apart.
    expect(await countOf(payment)).toBe(4)
    expect(await system.deliveries(payment)).toHaveLength(5)
  })

  test('may be any text, a zero too, and so may a reference', async () => {
    const { payment } = await system.ownDeposit(AMOUNT + 908n, { c_id: '0' })
    await system.payments.reaches(payment.paymentId, SUCCESS)
    await system.notify({ cId: '0', operationId: '0' })
    expect((await system.resend({ hId: payment.hId, operationId: '0' })).deliveryIds).toHaveLength(1)
  })

  test('repeated while the payment moved on answers what was answered first', async () => {
    const { payment } = await system.ownDeposit(AMOUNT)
    const request = { hId: payment.hId, operationId: uuidv7() }
    const { payment: first } = await system.notify(request)
    expect(first?.status).toBe(PROCESSING)
    await system.payments.reaches(payment.paymentId, SUCCESS)
    expect((await system.notify(request)).payment).toEqual(first)
  })

  test('by ten at once is one delivery, and all get its id', async () => {
    const payment = await system.paidDeposit()
    const request = { hId: payment.hId, operationId: uuidv7() }
    const answers = await Promise.all(Array.from({ length: 10 }, () => system.resend(request)))
    expect(new Set(answers.map(({ deliveryIds }) => deliveryIds.join())).size).toBe(1)
    await Promise.all(Array.from({ length: 10 }, () => system.notify(request)))
    await system.callbacks(payment, 4)
    expect(await countOf(payment)).toBe(4)
  })

  test.each(['resend', 'notify'] as const)('with another payload is 1013: %s', async (method) => {
    const [one, two] = [await system.paidDeposit(), await system.paidDeposit()]
    const operationId = uuidv7()
    await system[method]({ hId: one.hId, operationId })
    const other = system[method]({ hId: two.hId, operationId, payloadHash: 'another payload' })
    await expect(other).rejects.toMatchObject({ code: 1013, http: 409 })
    expect(await system.deliveries(two)).toHaveLength(2)
  })
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

  test('are the endpoints that want the event now; with none it is 1003 and nothing is stored', async () => {
    const payment = await system.payments.deposit(AMOUNT + 908n)
    await system.payments.reaches(payment.paymentId, SUCCESS)
    const request = { hId: payment.hId, operationId: uuidv7() }
    const refused = async (): Promise<void> => {
      await expect(system.resend(request)).rejects.toMatchObject({ code: 1003, http: 400 })
      await expect(system.notify(request)).rejects.toMatchObject({ code: 1003, http: 400 })
    }
    await refused()
    await system.addEndpoint(first.url, ['payment.failed', 'payment.created'])
    await refused()
    const one = await system.addEndpoint(first.url)
    await system.switchEndpoint(one.endpointId, false)
    await refused()
    expect(await system.deliveries(payment)).toEqual([])

    await system.switchEndpoint(one.endpointId, true)
    const two = await system.addEndpoint(second.url, ['payment.completed'])
    const { deliveryIds } = await system.resend(request)
    expect(deliveryIds).toHaveLength(2)
    expect(new Set(deliveryIds).size).toBe(2)
    for (const receiver of [first, second]) {
      const [callback] = await expectOne(receiver, payment)
      expect(deliveryIds).toContain(callback?.headers['x-webhook-id'])
    }
    await system.switchEndpoint(two.endpointId, false)
    expect((await system.resend(request)).deliveryIds).toEqual(deliveryIds)
    expect((await system.resend({ ...request, operationId: uuidv7() })).deliveryIds).toHaveLength(1)
    await system.switchEndpoint(one.endpointId, false)
  })

  test('of a payment with an address of its own are that address alone', async () => {
    const { endpointId } = await system.addEndpoint(first.url)
    const payment = await system.paidDeposit()
    const { deliveryIds } = await system.resend({ hId: payment.hId, operationId: uuidv7() })
    expect(deliveryIds).toHaveLength(1)
    await system.callback(deliveryIds[0])
    expect(first.of(payment.cId)).toEqual([])
    await system.switchEndpoint(endpointId, false)
  })

  async function expectOne(receiver: Receiver, { cId }: Payment): Promise<readonly ReceivedCallback[]> {
    return eventually(
      async () => receiver.of(cId),
      (came) => came?.length === 1,
    )
  }
})

describe('who may ask', () => {
  const both = ['resend', 'notify'] as const

  test.each(both)('is the owner alone, and within its environment: %s', async (method) => {
    const { hId } = await system.paidDeposit()
    const operationId = uuidv7()
    const merchantId = await anotherMerchant(system.payments)
    for (const whose of [{ merchantId }, { environment: Environment.PRODUCTION }, { hId: uuidv7() }]) {
      const asked = system[method]({ hId, operationId, ...whose })
      await expect(asked).rejects.toMatchObject({ code: 6010, http: 400 })
    }
    const mismatched = system.notify({ hId, cId: 'another', operationId })
    await expect(mismatched).rejects.toMatchObject({ code: 6010 })
  })

  test.each(both)('is judged by the stored route, also of what was done before: %s', async (method) => {
    const { hId, serviceId } = await system.paidDeposit()
    const request = { hId, operationId: uuidv7() }
    const policies = [{ serviceIds: ['1'] }, { currencies: ['TRY'] }]
    for (const policy of policies)
      await expect(system[method]({ ...request, policy })).rejects.toMatchObject({ code: 3008, http: 403 })
    await system[method]({ ...request, policy: { serviceIds: [serviceId], currencies: ['INR'] } })
    for (const policy of policies)
      await expect(system[method]({ ...request, policy })).rejects.toMatchObject({ code: 3008 })
  })

  test('is the gateway for merchants, and payments at the notifier: nobody else', async () => {
    const { roles } = system.payments
    for (const caller of ['operator', 'internal', 'support'] as const) {
      const payments = roles.client(PaymentService, caller)
      await expect(payments.notifyPayment({})).rejects.toThrow()
      await expect(payments.resendCallback({})).rejects.toThrow()
    }
    for (const caller of ['operator', 'internal', 'gateway'] as const)
      await expect(roles.client(DeliveryService, caller).queueEvent({})).rejects.toThrow()
    await expect(roles.client(DeliveryService, 'payments').queueEvent({})).rejects.toMatchObject({
      code: 1005,
    })
  })
})

describe('what is away', () => {
  test.each(['notifier', 'payments'])('the store of %s is 2002, and the retry works', async (role) => {
    const { roles } = system.payments
    const payment = await system.paidDeposit()
    const request = { hId: payment.hId, operationId: uuidv7() }
    roles.setAway(role, true)
    try {
      await expect(system.resend(request)).rejects.toMatchObject({ code: 2002 })
      await expect(system.notify(request)).rejects.toMatchObject({ code: 2002 })
    } finally {
      roles.setAway(role, false)
    }
    const { deliveryIds } = await system.resend(request)
    await system.notify(request)
    expect(await system.resend(request)).toMatchObject({ deliveryIds })
    await system.callbacks(payment, 4)
    expect(await countOf(payment)).toBe(4)
  })
})
