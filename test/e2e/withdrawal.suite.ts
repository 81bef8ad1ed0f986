import { beforeAll, describe, expect, test } from '@jest/globals'
import { eventually } from '../support/eventually.ts'
import type { MerchantClient } from '../support/merchant.ts'
import { operatorOf } from '../support/operator.ts'
import type { Receiver } from '../support/receiver.ts'
import { verifyLedgerOf } from '../support/verification.ts'
import { payEveryOutcome } from './outcomes.suite.ts'
import type { RunningSystem, SystemSuite } from './system.suite.ts'

/** Digits of a withdrawal that stays open, so that its amount stays held. */
const OPEN_DIGITS = 905

/** The suite for withdrawals, from the signed request to the signed callback, for every way of running the system. */
export const withdrawalSuite: SystemSuite = (given) => {
  describe('withdrawals', () => {
    let system: RunningSystem
    let alpha: MerchantClient
    let receiver: Receiver
    beforeAll(() => {
      ;({ system, alpha, receiver } = given())
    })
    const operator = () => operatorOf(system.demo())

    // P11, P13
    test('a withdrawal holds its amount, is paid, and is called back when the balance shows it', async () => {
      const before = await alpha.balance()
      const { c_id, body, http_status } = await alpha.withdraw(12_300, { webhook_url: receiver.url })
      expect(http_status).toBe(200)
      const { payment, operation } = body.result
      expect(payment.status.history[0]).toMatchObject({
        status: 'created',
        created: payment.timestamps.created,
      })
      expect(payment).toMatchObject({
        destination: 'out',
        receiver: { bank_account: { id: '123456789012' } },
      })
      expect(payment).not.toHaveProperty('payer')
      expect(payment).not.toHaveProperty('redirect')
      expect(operation).toMatchObject({
        operation_type: 'withdrawal',
        amount: { value: 12_300, currency: 'INR' },
      })
      const callback = await receiver.waitFor(c_id, 'payment.completed')
      const { payment: paid } = callback.body.data.result
      expect(paid).toMatchObject({
        destination: 'out',
        status: { status: 'success', final: true },
        identifiers: { utr: expect.any(String) },
      })
      expect(paid).not.toHaveProperty('service_id')
      const { value, value_freezing } = await alpha.balance()
      expect({ value, value_freezing }).toEqual({
        value: before.value - 12_300,
        value_freezing: before.value_freezing,
      })
    })

    test('every sandbox outcome gives the expected status, event and balance', async () => {
      const before = await alpha.balance()
      const paid = await payEveryOutcome(given(), alpha.withdraw, 6034)
      const { value, value_freezing } = await alpha.balance()
      expect({ value, value_freezing }).toEqual({
        value: before.value - paid,
        value_freezing: before.value_freezing,
      })
    })

    test('a provider that is down fails the withdrawal at once, unless its route has another account', async () => {
      const before = await alpha.available()
      const down = await alpha.withdraw(5_000, {
        route: { purpose: 'provider_down' },
        webhook_url: receiver.url,
      })
      expect(down.body.result.payment.status).toMatchObject({ status: 'error', error: 7002, final: true })
      await receiver.waitFor(down.c_id, 'payment.failed')
      expect(await alpha.available()).toBe(before)
      const moved = await alpha.withdraw(5_000, { route: { purpose: 'failover' } })
      expect(moved.body.result.payment.status).toMatchObject({ status: 'processing' })
      expect((await alpha.finalPayment(moved.c_id)).status.status).toBe('success')
    })

    test('a route can give 18-digit ids', async () => {
      const { body } = await alpha.withdraw(7_000, { route: { purpose: 'numeric_id' } })
      expect(body.result.payment.identifiers.h_id).toMatch(/^[1-9][0-9]{17}$/)
    })

    // P12, P13
    test('every route pays a valid account of its country, and refuses a bad one and keeps nothing of it', async () => {
      const routes = alpha.merchant.routes.filter(
        ({ purpose, direction }) => purpose === 'normal' && direction === 'out',
      )
      expect(routes).toHaveLength(6)
      await Promise.all(
        routes.map(async (route) => {
          const { c_id, body } = await alpha.withdraw(3_000, { route })
          expect({ route, body }).toMatchObject({ body: { success: true } })
          expect((await alpha.finalPayment(c_id)).status.status).toBe('success')
          const bad = await alpha.withdraw(3_000, {
            route,
            bank: { account: { id: '1' }, ...CODES[route.currency] },
          })
          expect({ route, code: bad.body.error.code }).toEqual({ route, code: 8600 })
          expect((await alpha.status(bad.c_id)).body.error.code).toBe(6010)
        }),
      )
    })

    test('at once above the balance: exactly as many are accepted as it pays for, and their sum is held', async () => {
      const route = { method: 'bank_transfer', currency: 'LKR' }
      const before = await alpha.balance('LKR')
      const value = 15_000_000 + OPEN_DIGITS
      const responses = await Promise.all(Array.from({ length: 30 }, () => alpha.withdraw(value, { route })))
      const accepted = responses.filter(({ body }) => body.success).length
      expect(accepted).toBe(Math.floor(before.value / value))
      const codes = responses.flatMap(({ body }) => (body.success ? [] : [body.error.code]))
      expect(codes).toEqual(Array.from({ length: 30 - accepted }, () => 6004))
      expect(await alpha.balance('LKR')).toMatchObject({
        value: before.value - accepted * value,
        value_freezing: before.value_freezing + accepted * value,
      })
    })

    // E11
    test('50 requests at once with one c_id create one withdrawal with one hold', async () => {
      const c_id = 'a withdrawal of my own'
      const value = 4_000_000 + OPEN_DIGITS
      const responses = await Promise.all(Array.from({ length: 50 }, () => alpha.withdraw(value, { c_id })))
      const [created, ...others] = responses.filter(({ body }) => body.success)
      expect(others).toEqual([])
      const h_id = created?.body.result.payment.identifiers.h_id
      for (const { body } of responses.filter((response) => !response.body.success))
        expect(body.error).toMatchObject({ code: 6009, context: { h_id } })
      const { merchant_id } = alpha.merchant
      const { entries } = await operator()('multihub.balances.v1.BalanceService/ListEntries', {
        merchant_id,
        payment_id: h_id,
      })
      expect(entries).toMatchObject([{ kind: 'LEDGER_ENTRY_KIND_HOLD', amount: { minor: String(value) } }])
      // P8: it stays open, however often it is polled.
      const { payment } = (await alpha.status(c_id)).body.result
      expect(payment.status).toMatchObject({ status: 'processing', final: false, success: null })
    })

    // P3, E14
    test('one that the balance does not pay for leaves a record and nothing else, and its c_id is free', async () => {
      const before = await alpha.balance()
      const value = before.value + 1_000_000
      const { c_id, body, http_status } = await alpha.withdraw(value, { webhook_url: receiver.url })
      expect([http_status, body.error.code]).toEqual([400, 6004])
      expect((await alpha.status(c_id)).body.error.code).toBe(6010)
      expect((await alpha.notify({ c_id })).body.error.code).toBe(6010)
      const { merchant_id } = alpha.merchant
      const { refusals } = await operator()('multihub.payments.v1.PaymentService/ListWithdrawalRefusals', {
        merchant_id,
      })
      expect(refusals[0]).toMatchObject({ cId: c_id, errorCode: 6004, amount: { minor: String(value) } })
      const { payments } = await operator()('multihub.payments.v1.PaymentService/ListPayments', {
        merchant_id,
      })
      expect(payments.map((payment: { cId: string }) => payment.cId)).not.toContain(c_id)
      const again = await alpha.withdraw(5_908, { c_id, webhook_url: receiver.url })
      expect(again.body.result.payment.status.status).toBe('success')
      await receiver.waitFor(c_id, 'payment.completed')
      // The refused request had the same callback address. Both events belong to the second request.
      const { h_id } = again.body.result.payment.identifiers
      expect(new Set(receiver.of(c_id).map(({ body }) => body.id.split(':')[0]))).toEqual(new Set([h_id]))
      expect((await alpha.balance()).value).toBe(before.value - 5_908)
    })

    // P15
    test('callbacks of a withdrawal can be requested again', async () => {
      const { c_id, body } = await alpha.withdraw(6_908, { webhook_url: receiver.url })
      const { h_id } = body.result.payment.identifiers
      await receiver.waitFor(c_id, 'payment.completed')
      expect((await alpha.notify({ c_id })).body.result.payment.destination).toBe('out')
      expect((await alpha.resend(h_id, 'again')).body.result).toMatchObject({ status: 'queued' })
      await eventually(
        async () => receiver.of(c_id).filter(({ body }) => body.id === `${h_id}:payment.completed`).length,
        (count = 0) => count >= 3,
      )
    })

    // E9, B4
    test('a route of the other direction is 1008, and the ledger is consistent after all of this', async () => {
      const route = alpha.merchant.routes.find(({ direction }) => direction === 'out')
      expect((await alpha.deposit(1_000, { route: route ?? {} })).body.error.code).toBe(1008)
      expect(await verifyLedgerOf(operator())).toMatchObject({ consistent: true })
    })
  })
}

/** The codes that an account needs in its country. */
const CODES: Readonly<Record<string, object>> = { INR: { ifsc: 'SBIN0001234' }, AUD: { code: '062000' } }
