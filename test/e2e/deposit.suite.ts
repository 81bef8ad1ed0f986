import { createHmac, randomUUID } from 'node:crypto'
import { beforeAll, describe, expect, test } from '@jest/globals'
import { eventually } from '../support/eventually.ts'
import { type MerchantClient, merchantClient } from '../support/merchant.ts'
import { operatorOf } from '../support/operator.ts'
import { callbackSecret, type ReceivedCallback, type Receiver } from '../support/receiver.ts'
import { verifyLedgerOf } from '../support/verification.ts'
import { payEveryOutcome } from './outcomes.suite.ts'
import type { RunningSystem, SystemSuite } from './system.suite.ts'

/** The suite for deposits, from the signed request to the signed callback, for every way of running the system. */
export const depositSuite: SystemSuite = (given) => {
  describe('deposits', () => {
    let system: RunningSystem
    let alpha: MerchantClient
    let receiver: Receiver
    beforeAll(() => {
      ;({ system, alpha, receiver } = given())
    })

    test('a deposit that is paid at once has no links and no QR payload, because nothing is left to pay', async () => {
      const { payment } = (await alpha.deposit(12_908)).body.result
      expect(payment.status.status).toBe('success')
      expect(payment).not.toHaveProperty('redirect')
      expect(payment.receiver ?? {}).toEqual({})
    })

    test('a deposit gets a response, is completed, is called back with a signature, and is in the balance', async () => {
      const before = await alpha.available()
      const { c_id, body, http_status } = await alpha.deposit(12_300, { webhook_url: receiver.url })
      expect(http_status).toBe(200)
      const { payment, operation } = body.result
      expect(payment.status.history.map((entry: { status: string }) => entry.status)).toEqual([
        'created',
        'processing',
      ])
      expect(payment).toMatchObject({ destination: 'in', redirect: { to: expect.any(Array) } })
      expect(payment.receiver.qr_payload).toMatch(/^upi:\/\//)
      expect(operation).toMatchObject({
        operation_type: 'deposit',
        amount: { value: 12_300, currency: 'INR' },
      })

      const callback = await receiver.waitFor(c_id, 'payment.completed')
      expect(callback.body.data).toMatchObject({ success: true, next: null })
      expect(callback.body.data.result.payment).toMatchObject({ status: { status: 'success', final: true } })
      expect(isSignedWith(callback, callbackSecret(alpha.credential.secret))).toBe(true)
      expect(isSignedWith(callback, callbackSecret('0'.repeat(64)))).toBe(false)
      // The event waits for the ledger, so a merchant that reads now sees the money (P9).
      expect(await alpha.available()).toBe(before + 12_300)
    })

    test('every sandbox outcome gives the expected status, event and balance', async () => {
      const before = await alpha.available()
      const paid = await payEveryOutcome(given(), alpha.deposit, 6012)
      expect(await alpha.available()).toBe(before + paid)
    })

    test('a provider that is down fails the deposit at once, unless its route has another account', async () => {
      const down = await alpha.deposit(5_000, { route: { purpose: 'provider_down' } })
      expect(down.body.result.payment.status).toMatchObject({ status: 'error', error: 7002, final: true })
      const moved = await alpha.deposit(5_000, { route: { purpose: 'failover' } })
      expect(moved.body.result.payment.status).toMatchObject({ status: 'processing' })
      expect((await alpha.finalPayment(moved.c_id)).status.status).toBe('success')
    })

    test('an unpaid deposit expires', async () => {
      const { c_id } = await alpha.deposit(7_905, { route: { purpose: 'short_expiry' } })
      expect((await alpha.finalPayment(c_id)).status).toMatchObject({ status: 'declined', error: 6011 })
    })

    test('a route can give 18-digit ids', async () => {
      const { c_id, body } = await alpha.deposit(7_000, { route: { purpose: 'numeric_id' } })
      expect(body.result.payment.identifiers.h_id).toMatch(/^[1-9][0-9]{17}$/)
      expect((await alpha.finalPayment(c_id)).status.status).toBe('success')
    })

    test('repeated and concurrent requests with one c_id create one payment', async () => {
      const c_id = 'a reference of my own'
      const responses = await Promise.all(Array.from({ length: 8 }, () => alpha.deposit(4_000, { c_id })))
      const accepted = responses.filter(({ body }) => body.success)
      expect(accepted).toHaveLength(1)
      const h_id = accepted[0]?.body.result.payment.identifiers.h_id
      for (const { body, http_status } of responses.filter((response) => !response.body.success)) {
        expect(http_status).toBe(400)
        expect(body.error).toMatchObject({ code: 6009, context: { h_id } })
      }
      const beta = merchantClient(system.demo, 'beta')
      expect((await beta.deposit(4_000, { c_id })).body.success).toBe(true)
      expect((await beta.status('an unknown reference')).body.error.code).toBe(6010)
    })

    // E6
    test('a deposit that could take the balance past 2^63-1 is refused, and its c_id stays free', async () => {
      const operator = operatorOf(system.demo())
      const { merchant_id: merchantId } = alpha.merchant
      const owner = { merchantId, environment: 'ENVIRONMENT_TEST' }
      const adjust = (minor: bigint, operationId: string) =>
        operator('multihub.balances.v1.BalanceService/Adjust', {
          ...owner,
          amount: { minor: String(minor), currency: 'INR' },
          reason: 'the largest balance',
          operationId,
        })
      const { balances } = await operator('multihub.balances.v1.BalanceService/GetBalances', owner)
      const balance = balances.find(({ currency }: { currency: string }) => currency === 'INR')
      // The deposits that other tests have left open still fit.
      const added = 2n ** 63n - BigInt(balance.available) - BigInt(balance.held ?? 0) - 10n ** 15n
      await adjust(added, randomUUID())
      const c_id = 'the largest deposit'
      const { body, http_status } = await alpha.deposit(1e15, { c_id })
      expect(http_status).toBe(400)
      expect(body.error).toMatchObject({
        code: 6001,
        details: { description: 'params.payment.amount.value' },
      })
      expect((await alpha.deposit(7_000, { c_id })).body.success).toBe(true)
      await adjust(-added, randomUUID())
    })

    // P13
    test('every payment method returns the instructions that the customer needs', async () => {
      const routes = alpha.merchant.routes.filter(
        ({ purpose, direction }) => purpose === 'normal' && direction === 'in',
      )
      expect(routes).toHaveLength(11)
      for (const route of routes) {
        const { body } = await alpha.deposit(3_000, { route })
        expect({ route, body }).toMatchObject({ body: { success: true } })
        const { redirect, receiver: instructions } = body.result.payment
        if (['papara', 'kredikarti', 'bank_transfer'].includes(route.method))
          expect(redirect.to).toMatch(/^https?:/)
        if (['imps', 'havale', 'bank_transfer'].includes(route.method)) {
          expect(instructions).toMatchObject({
            bank_account: { id: expect.any(String) },
            bank: { name: expect.any(String) },
            phone: expect.any(String),
            document: { type: expect.any(String), number: expect.any(String) },
          })
        }
      }
    })

    test('the operator reads the payment, its entries and deliveries, and a consistent ledger', async () => {
      const operator = operatorOf(system.demo())
      const webhook_url = receiver.url.replace('127.0.0.1', 'localhost')
      const { c_id, body } = await alpha.deposit(8_800, { webhook_url })
      const payment_id = body.result.payment.identifiers.h_id
      await receiver.waitFor(c_id, 'payment.completed')
      const shown = await operator('multihub.payments.v1.PaymentService/GetPayment', { payment_id })
      expect(shown.payment).toMatchObject({
        cId: c_id,
        status: 'PAYMENT_STATUS_SUCCESS',
        amount: { minor: '8800' },
      })
      const { merchant_id } = alpha.merchant
      const entries = await eventually(
        () => operator('multihub.balances.v1.BalanceService/ListEntries', { merchant_id, payment_id }),
        (seen) => seen?.entries?.length === 1,
      )
      expect(entries.entries[0]).toMatchObject({
        reason: 'deposit',
        amount: { minor: '8800', currency: 'INR' },
      })
      const deliveries = await eventually(
        () => operator('multihub.notifier.v1.DeliveryService/ListDeliveries', { merchant_id, payment_id }),
        (seen) =>
          seen?.deliveries?.every((one: { status: string }) => one.status === 'DELIVERY_STATUS_DELIVERED'),
      )
      // One of `payment.created` and one of `payment.completed`.
      expect(deliveries.deliveries).toHaveLength(2)
      expect(await verifyLedgerOf(operator)).toMatchObject({ consistent: true })
    })

    test('refuses an operator with another token', async () => {
      const callWithOtherToken = operatorOf({ ...system.demo(), operator: { token: 'f'.repeat(64) } })
      const call = callWithOtherToken('multihub.balances.v1.VerificationService/GetVerification', {})
      await expect(call).rejects.toThrow(/unauthenticated/)
    })
  })
}

/** The V3 signature, computed as a merchant does (spec: Delivery headers). */
function isSignedWith({ headers, raw }: ReceivedCallback, secret: string): boolean {
  const { 'x-webhook-timestamp': timestamp, 'x-webhook-nonce': nonce, 'x-webhook-id': id } = headers
  const signed = Buffer.concat([Buffer.from(`${timestamp}.${nonce}.${id}.`), raw])
  return createHmac('sha512', secret).update(signed).digest('hex') === headers['x-webhook-signature-v3']
}
