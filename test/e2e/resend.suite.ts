import { randomUUID } from 'node:crypto'
import { beforeAll, describe, expect, test } from '@jest/globals'
import { eventually } from '../support/eventually.ts'
import { type MerchantClient, merchantClient } from '../support/merchant.ts'
import type { ReceivedCallback, Receiver } from '../support/receiver.ts'
import type { TestSystem } from '../support/system.ts'
import type { RunningSystem, SystemSuite } from './system.suite.ts'

/**
 * The suite for repeated callbacks over the public API. Each method is called less than ten times per minute, its
 * quota.
 */
export const resendSuite: SystemSuite = (given) => {
  describe('repeated callbacks', () => {
    let system: RunningSystem
    let alpha: MerchantClient
    let receiver: Receiver
    beforeAll(() => {
      ;({ system, alpha, receiver } = given())
    })

    /** Creates a deposit that is paid, and waits for its two automatic callbacks. */
    async function paid(): Promise<{ c_id: string; h_id: string }> {
      const { c_id, body } = await alpha.deposit(5_908, { webhook_url: receiver.url })
      await callbacksOf(receiver, c_id, 2)
      return { c_id, h_id: body.result.payment.identifiers.h_id }
    }

    test('a resend and a notification create one delivery each, even when they are repeated', async () => {
      const { c_id, h_id } = await paid()
      const operation_id = randomUUID()
      const resent = await alpha.resend(h_id, operation_id)
      expect([resent.http_status, resent.body.result]).toEqual([
        200,
        { payment_id: h_id, operation_id, delivery_ids: [expect.any(String)], status: 'queued' },
      ])
      expect((await alpha.resend(h_id, operation_id)).body.result).toEqual(resent.body.result)

      const [notified, again] = [
        await alpha.notify({ c_id, h_id }, operation_id),
        await alpha.notify({ c_id, h_id }, operation_id),
      ]
      expect(notified.http_status).toBe(200)
      expect(resultText(again.raw)).toBe(resultText(notified.raw))
      expect(resultText(notified.raw)).toBe(resultText((await alpha.status(c_id)).raw))

      await callbacksOf(receiver, c_id, 4)
      const last = await alpha.resend(h_id, randomUUID())
      const all = await eventually(
        async () => receiver.of(c_id),
        (seen = []) => seen.some((one) => deliveryOf(one) === last.body.result.delivery_ids[0]),
      )
      expect(all).toHaveLength(5)
      expect(all.map(deliveryOf)).toContain(resent.body.result.delivery_ids[0])
      const completed = all.filter(({ body }) => body.id === `${h_id}:payment.completed`)
      expect(completed).toHaveLength(4)
      expect(new Set(completed.map(deliveryOf)).size).toBe(4)
    })

    test('a refused request returns its code and queues nothing', async () => {
      const { c_id, h_id } = await paid()
      const operation_id = randomUUID()
      await alpha.resend(h_id, operation_id)
      const waiting = await alpha.deposit(5_905, { webhook_url: receiver.url })
      const waiting_id = waiting.body.result.payment.identifiers.h_id
      const refused = async (response: ReturnType<MerchantClient['resend']>): Promise<unknown> => {
        const { http_status, body } = await response
        return [http_status, body.error.code]
      }
      expect(await refused(alpha.resend(waiting_id, operation_id))).toEqual([409, 1013])
      expect(await refused(alpha.resend(waiting_id, randomUUID()))).toEqual([400, 8801])
      const beta = merchantClient(system.demo, 'beta')
      expect(await refused(beta.resend(h_id, operation_id))).toEqual([400, 6010])
      expect(await refused(beta.notify({ c_id }))).toEqual([400, 6010])
      const silent = await alpha.deposit(5_908)
      expect(await refused(alpha.notify({ c_id: silent.c_id }))).toEqual([400, 1003])
      await callbacksOf(receiver, c_id, 3)
      expect(receiver.of(waiting.c_id)).toHaveLength(1)
    })
  })
}

/** Repeated callbacks while the notifier is down, for systems with one process per role. */
export const notifierOutageSuite: SystemSuite<TestSystem> = (given) => {
  describe('repeated callbacks', () => {
    test('a resend without a notifier gives 2002, and succeeds when the notifier runs again', async () => {
      const { system, receiver } = given()
      const beta = merchantClient(system.demo, 'beta')
      const { c_id, body: created } = await beta.deposit(5_908, { webhook_url: receiver.url })
      await callbacksOf(receiver, c_id, 2)
      const { h_id } = created.result.payment.identifiers
      const operation_id = randomUUID()
      await system.kill('notifier')
      const { http_status, body } = await beta.resend(h_id, operation_id)
      expect([http_status, body.error.code]).toEqual([400, 2002])

      await system.start('notifier')
      let sent_ms = 0
      const response = await eventually(
        async () => {
          // At most one request per second, because the quota is ten per minute.
          if (performance.now() - sent_ms < 1_000) return undefined
          sent_ms = performance.now()
          return beta.resend(h_id, operation_id)
        },
        (seen) => seen?.body.success === true,
      )
      // A callback whose outcome the killed notifier had not stored is sent again, under its id (N7).
      const ids = await eventually(
        async () => new Set(receiver.of(c_id).map(deliveryOf)),
        (seen) => (seen?.size ?? 0) >= 3,
      )
      expect(ids.size).toBe(3)
      expect(ids).toContain(response?.body.result.delivery_ids[0])
    })
  })
}

/** Waits for this number of callbacks about a payment. */
function callbacksOf(receiver: Receiver, c_id: string, count: number): Promise<readonly ReceivedCallback[]> {
  return eventually(
    async () => receiver.of(c_id),
    (seen = []) => seen.length >= count,
  )
}

function deliveryOf({ headers }: ReceivedCallback): string | undefined {
  return headers['x-webhook-id']
}

/** The text of the `result` of a response, up to the request id, which follows it. */
function resultText(raw: string): string {
  return raw.slice(raw.indexOf('"result":'), raw.indexOf('"request_id":'))
}
