import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { BalanceService } from '#gen/multihub/balances/v1/balance_service_pb.ts'
import { Environment } from '#gen/multihub/common/v1/environment_pb.ts'
import { Direction } from '#gen/multihub/merchants/v1/route_pb.ts'
import { AnomalyKind, PaymentStatus } from '#gen/multihub/payments/v1/payment_pb.ts'
import { eventSubject } from '#lib/contract/events.ts'
import { openEvent } from '#lib/patterns/sealed-event.ts'
import { eventually } from '../../test/support/eventually.ts'
import { type PaymentsSystem, RIVAL_KEY, startPayments, statusesOf } from './payments-system.fixture.ts'
import { post, type ReceivedOrder } from './scripted-provider.fixture.ts'

const { SUCCESS, ERROR, CANCELED, DECLINED, PROCESSING } = PaymentStatus
const AMOUNT = 1_000_000n

let system: PaymentsSystem
beforeAll(async () => {
  system = await startPayments()
})
afterAll(async () => {
  await system[Symbol.asyncDispose]()
})

/** Checks a deposit that was paid once: one history, two events, one ledger entry. */
async function expectPaidOnce(payment_id: string): Promise<void> {
  const payment = await system.waitForStatus(payment_id, SUCCESS)
  expect(statusesOf(payment).at(-1)).toBe('SUCCESS')
  expect(new Set(statusesOf(payment)).size).toBe(payment.history.length)
  const events = await system.events(payment_id, 2)
  expect(events.map(({ event }) => event)).toEqual(['payment.created', 'payment.completed'])
  await eventually(
    () => system.entries(payment_id),
    (entries) => entries?.length === 1,
  )
}

describe('a deposit in the sandbox', () => {
  test('is paid by a callback and credited once, and its events are snapshots of their transitions', async () => {
    const created = await system.deposit(AMOUNT)
    expect(created).toMatchObject({ status: PROCESSING, receiver: { qrPayload: expect.any(String) } })
    await expectPaidOnce(created.paymentId)
    const [first, second] = await system.events(created.paymentId, 2)
    expect(first?.resource.value).toMatchObject({ status: PaymentStatus.CREATED })
    expect(second?.resource.value).toMatchObject({ status: SUCCESS, finishTime: expect.anything() })
  })

  test('is refused with 1005 when its request has no direction', async () => {
    const request = { direction: Direction.UNSPECIFIED }
    await expect(system.deposit(AMOUNT, { request })).rejects.toMatchObject({
      code: 1005,
      details: { description: 'direction' },
    })
  })

  // P9
  test('is shown as a success while the ledger is down, and its event waits for the credit', async () => {
    system.roles.setStoreUnavailable('balances', true)
    const { paymentId } = await system.deposit(AMOUNT)
    await system.waitForStatus(paymentId, SUCCESS)
    expect((await system.events(paymentId, 1)).map(({ event }) => event)).toEqual(['payment.created'])
    system.roles.setStoreUnavailable('balances', false)
    await expectPaidOnce(paymentId)
  })

  test('is in the balance when its completion event is published', async () => {
    const { bus, client } = system.roles
    const { promise: read, resolve } = Promise.withResolvers<bigint>()
    const balances = client(BalanceService, 'backoffice')
    const available = async (): Promise<bigint> => {
      const owner = { merchantId: system.merchant_id, environment: Environment.TEST }
      const { balances: all } = await balances.getBalances(owner)
      return all.find(({ currency }) => currency === 'INR')?.available ?? 0n
    }
    const before = await available()
    const watching = await bus.subscribe(eventSubject('payment.completed'), async ({ data }) => {
      const { resource } = openEvent(data, system.roles.keys.person)
      if (resource.case === 'payment' && resource.value.amount?.minor === AMOUNT + 1_908n)
        resolve(await available())
    })
    await system.deposit(AMOUNT + 1_908n)
    expect((await read) - before).toBe(AMOUNT + 1_908n)
    await watching.close()
  })

  test.each([
    [901, ERROR, 6044, 'payment.failed'],
    [902, ERROR, 6044, 'payment.failed'],
    [906, CANCELED, 6012, 'payment.cancelled'],
    [907, ERROR, 7001, 'payment.failed'],
  ])('with an amount that ends in %d fails and is not credited', async (digits, status, error, event) => {
    const { paymentId } = await system.deposit(AMOUNT + BigInt(digits))
    expect(await system.waitForStatus(paymentId, status)).toMatchObject({ errorCode: error })
    const events = await system.events(paymentId, 2)
    expect(events.map((one) => one.event)).toEqual(['payment.created', event])
    expect(await system.entries(paymentId)).toEqual([])
  })

  test('is paid once when callbacks come out of order, one of them with another amount, which is an anomaly', async () => {
    const { paymentId } = await system.deposit(AMOUNT + 909n)
    await expectPaidOnce(paymentId)
    const anomalies = await eventually(
      () => system.anomalies(paymentId),
      (found = []) => found.length > 0,
    )
    expect(anomalies).toMatchObject([{ kind: AnomalyKind.AMOUNT_DIFFERS }])
  })

  test('is completed by polling without a callback, also after a failed create', async () => {
    const digits = [903n, 904n, 910n, 913n, 915n]
    const created = await Promise.all(digits.map((ending) => system.deposit(AMOUNT + ending)))
    expect(created.map(({ status }) => status)).toEqual(digits.map(() => PROCESSING))
    for (const { paymentId } of created) await expectPaidOnce(paymentId)
  })

  // P8
  test('expires when it is not paid', async () => {
    const { paymentId } = await system.deposit(AMOUNT + 905n, { expires_in_seconds: 1 })
    expect(await system.waitForStatus(paymentId, DECLINED)).toMatchObject({ errorCode: 6011 })
    const events = await system.events(paymentId, 2)
    expect(events.map(({ event }) => event)).toEqual(['payment.created', 'payment.failed'])
  })

  test('uses the next account when the first cannot be reached, and fails without one', async () => {
    const { paymentId } = await system.deposit(AMOUNT, { accounts: ['sandbox-down', 'sandbox'] })
    await expectPaidOnce(paymentId)
    expect(await system.deposit(AMOUNT, { accounts: ['sandbox-down'] })).toMatchObject({
      status: ERROR,
      errorCode: 7002,
    })
  })
})

describe('a callback', () => {
  /** A deposit whose create the provider has received and not answered. */
  async function startDeposit(): Promise<{
    order: ReceivedOrder
    created: Promise<string>
    payment_id: string
  }> {
    const { provider } = system
    provider.stopAnswering()
    const count = provider.orders() + 1
    const created = system.deposit(AMOUNT, { accounts: ['acme'] }).then(({ paymentId }) => paymentId)
    const order = await provider.order(count)
    const payment_id = order.idempotency_key.split(':')[0] ?? ''
    return { order, created, payment_id }
  }

  test('is applied before the create is answered', async () => {
    const { order, created, payment_id } = await startDeposit()
    expect(await system.provider.report(order)).toBe(200)
    await system.waitForStatus(payment_id, SUCCESS)
    system.provider.answer('pending')
    await created
    await expectPaidOnce(payment_id)
    expect(await system.anomalies(payment_id)).toEqual([])
  })

  test('that comes 20 times at once, with a poll and the response, gives one credit and one event per status', async () => {
    const { order, created, payment_id } = await startDeposit()
    expect(await system.provider.report(order, { status: 'pending' })).toBe(200)
    await system.provider.polled(order)
    const reports = Array.from({ length: 20 }, () => system.provider.report(order))
    system.provider.answer('success')
    expect(new Set(await Promise.all(reports))).toEqual(new Set([200]))
    await created
    await expectPaidOnce(payment_id)
    expect(statusesOf(await system.payment(payment_id))).toEqual(['CREATED', 'PROCESSING', 'SUCCESS'])
    expect(await system.anomalies(payment_id)).toEqual([])
  })

  test('without a valid signature gets 401 and changes nothing', async () => {
    const { order, payment_id, created } = await startDeposit()
    const { provider } = system
    system.provider.answer('pending')
    await created
    expect(await provider.report(order, { key: 'k'.repeat(32) })).toBe(401)
    expect(await provider.report(order, { account_id: 'rival' })).toBe(401)
    expect(await post(order.callback_url, {}, Buffer.from('{}'))).toBe(401)
    expect(await post(order.callback_url, {}, Buffer.alloc(70_000)).catch(() => 413)).toBe(413)
    expect((await system.payment(payment_id)).status).toBe(PROCESSING)
  })

  test('about a payment or attempt that was not sent to the account gets 404 and changes no payment', async () => {
    const { order, payment_id, created } = await startDeposit()
    const { provider } = system
    system.provider.answer('pending')
    await created
    const url = order.callback_url
    const as_rival = { account_id: 'rival', key: RIVAL_KEY, url: url.replace('/acme/', '/rival/') }
    const other_payment = order.idempotency_key.replace(/^..../, '0000')
    const wrong_reports = [
      as_rival,
      { url: url.replace(/[0-9a-f]{4}$/, '0000') },
      { url: url.replace('/test/', '/production/') },
      { url: url.replace('/acme/', '/nobody/'), account_id: 'nobody' },
      { idempotency_key: other_payment },
      { idempotency_key: `${payment_id}:2` },
      { idempotency_key: `${payment_id}:01` },
      { idempotency_key: payment_id },
    ]
    for (const changes of wrong_reports)
      expect([changes, await provider.report(order, changes)]).toEqual([changes, 404])
    expect((await system.payment(payment_id)).status).toBe(PROCESSING)
    const anomalies = await system.anomalies(payment_id)
    expect(anomalies.filter(({ kind }) => kind !== AnomalyKind.UNMATCHED_REPORT)).toEqual([])
  })

  test('gets 503 while the store is unavailable, and its repetition is applied', async () => {
    const { order, payment_id, created } = await startDeposit()
    system.provider.answer('pending')
    await created
    system.roles.setStoreUnavailable('payments', true)
    expect(await system.provider.report(order)).toBe(503)
    system.roles.setStoreUnavailable('payments', false)
    expect((await system.payment(payment_id)).status).toBe(PROCESSING)
    expect(await system.provider.report(order)).toBe(200)
    await expectPaidOnce(payment_id)
  })

  test('that contradicts the final status is recorded once as an anomaly', async () => {
    const { order, payment_id, created } = await startDeposit()
    system.provider.answer('pending')
    await created
    expect(await system.provider.report(order, { status: 'declined' })).toBe(200)
    expect(await system.provider.report(order)).toBe(200)
    expect(await system.provider.report(order)).toBe(200)
    await eventually(
      () => system.anomalies(payment_id),
      (found) => found?.length === 1,
    )
    expect((await system.payment(payment_id)).status).toBe(ERROR)
    expect(await system.entries(payment_id)).toEqual([])
  })
})

// P5, R5
test('a process that stops returns a create in progress without waiting for the provider', async () => {
  await using stopping = await startPayments()
  const created = stopping.deposit(AMOUNT, { accounts: ['acme', 'rival'] })
  await stopping.provider.order(1)
  stopping.roles.announceStop()
  expect(await created).toMatchObject({ status: PROCESSING })
  // A later create stays open. It is not tried at every account and failed.
  expect(await stopping.deposit(AMOUNT, { accounts: ['acme', 'rival'] })).toMatchObject({
    status: PROCESSING,
  })
})
