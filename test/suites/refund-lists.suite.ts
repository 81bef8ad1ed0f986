import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { Environment } from '#gen/multihub/common/v1/environment_pb.ts'
import { RefundStatus } from '#gen/multihub/payments/v1/refund_pb.ts'
import { ChargebackStatus } from '#gen/multihub/support/v1/chargeback_pb.ts'
import { ChargebackService } from '#gen/multihub/support/v1/chargeback_service_pb.ts'
import { RefundService } from '#gen/multihub/support/v1/refund_service_pb.ts'
import { useClock } from '#lib/base/time.ts'
import type { SupportClient, SupportSystem } from '../integration/support.fixture.ts'
import { createAdjustableClock } from '../support/adjustable-clock.ts'
import { eventually } from '../support/eventually.ts'
import { untilAvailable } from '../support/public-client.ts'

/** A refund or a chargeback as a list shows it. */
interface Item {
  readonly identifiers: { readonly h_id: string }
  readonly payment: { readonly c_id: string; readonly h_id: string }
  readonly status: string
  readonly created_at: string
}

let system: SupportSystem
let shop: SupportClient
/** All refunds and chargebacks of the shop, by `get`. */
const all: { refund: Item[]; chargeback: Item[] } = { refund: [], chargeback: [] }

/** The suite for lists, summaries and comments of refunds and chargebacks, which must pass on every store. */
export function refundListsSuite(name: string, start: () => Promise<SupportSystem>): void {
  describe(`lists of refunds and chargebacks on ${name}`, () => {
    beforeAll(async () => {
      system = await start()
      all.refund = []
      all.chargeback = []
      shop = await system.newMerchant()
      const other = await system.newMerchant()
      for (let index = 0; index < 5; index += 1) await addRefunds(shop)
      await addRefunds(other)
      for (let index = 0; index < 3; index += 1) await addChargebacks(shop)
      await addChargebacks(other)
      for (const resource of ['refund', 'chargeback'] as const) {
        const read = async ({ identifiers: { h_id } }: Item): Promise<Item> =>
          (await shop.call(`${resource}.get`, { identifiers: { h_id } })).body.result
        all[resource] = await Promise.all(all[resource].map(read))
        all[resource].sort(
          (a, b) =>
            b.created_at.localeCompare(a.created_at) || b.identifiers.h_id.localeCompare(a.identifiers.h_id),
        )
      }
    })
    afterAll(async () => {
      await system[Symbol.asyncDispose]()
    })

    /** Four refunds of one payment: rejected, canceled, completed and pending. */
    async function addRefunds(of: SupportClient): Promise<void> {
      const { c_id } = await of.deposit()
      const operator = system.operator(RefundService)
      const request = async (): Promise<string> => {
        const params = { identifiers: { c_id: randomUUID() }, payment: { c_id }, amount: '5' }
        const { body } = await of.call('refund.request', params)
        if (of === shop) all.refund.push(body.result)
        return body.result.identifiers.h_id
      }
      await operator.rejectRefund({ refundId: await request() })
      await operator.cancelRefund({ refundId: await request() })
      const h_id = await request()
      await operator.approveRefund({ refundId: h_id })
      await eventually(
        () => of.call('refund.get', { identifiers: { h_id } }),
        (response) => response?.body.result.status === 'completed',
      )
      await request()
    }

    /** Three chargebacks of one payment: open, won and lost. */
    async function addChargebacks(of: SupportClient): Promise<void> {
      const payment = await of.deposit()
      for (const status of [undefined, ChargebackStatus.WON, ChargebackStatus.LOST]) {
        const amount = { minor: 5n, currency: 'INR' }
        const { chargeback } = await system
          .operator(ChargebackService)
          .openChargeback({ paymentId: payment.h_id, amount, reasonCode: '10.4' })
        const h_id = chargeback?.chargebackId ?? ''
        if (status !== undefined)
          await system.operator(ChargebackService).moveChargeback({ chargebackId: h_id, status })
        if (of === shop) all.chargeback.push({ identifiers: { h_id } } as Item)
      }
    }

    /** Reads a list to its end, and checks that only its last page is short. */
    async function readAll(method: string, filter: object, limit: number): Promise<readonly Item[]> {
      const items: Item[] = []
      for (let cursor: string | undefined; ; ) {
        const { body } = await shop.call(method, { ...filter, limit, cursor })
        expect(body.success).toBe(true)
        items.push(...body.result.items)
        if (body.result.next_cursor === null) return items
        expect(body.result.items).toHaveLength(limit)
        cursor = body.result.next_cursor
      }
    }

    // S6, S7, S10
    describe.each(['refund', 'chargeback'] as const)('%s.list', (resource) => {
      const method = `${resource}.list`

      test('shows what each combination of filters selects, newest first, in pages of any size', async () => {
        const items = all[resource]
        const middle = items[Math.floor(items.length / 2)]
        if (!middle) throw new Error('there is nothing to list')
        const { created_at: bound, payment } = middle
        const statuses = [
          undefined,
          [],
          ['pending', 'won'],
          ['completed', 'rejected', 'open'],
          ['failed', 'accepted'],
        ]
        const payments = [undefined, { c_id: payment.c_id }, { h_id: payment.h_id }, { c_id: 'unknown' }]
        const bounds = [
          {},
          { created_from: bound },
          { created_to: bound },
          { created_from: bound, created_to: bound },
        ]
        const words = resource === 'refund' ? refundWords : chargebackWords
        for (const chosen of statuses) {
          const known = chosen?.filter((word) => words.includes(word))
          for (const of of payments) {
            for (const { created_from, created_to } of bounds as {
              created_from?: string
              created_to?: string
            }[]) {
              const filter = { statuses: known, payment: of, created_from, created_to }
              const expected = items.filter(
                (item) =>
                  (known === undefined || known.length === 0 || known.includes(item.status)) &&
                  (of === undefined || item.payment.c_id === of.c_id || item.payment.h_id === of.h_id) &&
                  (created_from === undefined || item.created_at >= created_from) &&
                  (created_to === undefined || item.created_at < created_to),
              )
              expect(await readAll(method, filter, 3)).toEqual(expected)
            }
          }
        }
        expect(await readAll(method, {}, 1)).toEqual(items)
        expect(await readAll(method, {}, 100)).toEqual(items)
      })

      test('refuses a cursor that was altered, of other filters, of another merchant and of another list', async () => {
        const { body } = await shop.call(method, { limit: 1 })
        const cursor: string = body.result.next_cursor
        const codeOf = async (of: SupportClient, name: string, params: object): Promise<unknown> =>
          (await of.call(name, params)).body.error
        const refusal = { code: 9000, details: { description: 'params.cursor' } }
        const altered = `${cursor.slice(0, -2)}${cursor.endsWith('AA') ? 'BB' : 'AA'}`
        const other = await system.newMerchant()
        expect(await codeOf(shop, method, { limit: 1, cursor: altered })).toMatchObject(refusal)
        const now = new Date().toISOString()
        const filters = [{ payment: { c_id: 'x' } }, { created_from: now }, { created_to: now }]
        const [status] = resource === 'refund' ? refundWords : chargebackWords
        for (const filter of [...filters, { statuses: [status] }])
          expect(await codeOf(shop, method, { ...filter, cursor })).toMatchObject(refusal)
        expect(await codeOf(other, method, { limit: 1, cursor })).toMatchObject(refusal)
        expect(await codeOf(shop, 'ticket.list', { limit: 1, cursor })).toMatchObject(refusal)
        expect((await shop.call(method, { limit: 5, cursor })).http_status).toBe(200)
      })

      test.each([0, 101])('refuses the limit %d', async (limit) => {
        const { body } = await shop.call(method, { limit })
        expect(body.error).toMatchObject({ code: 9000, details: { description: 'params.limit' } })
      })
    })

    // S11
    describe.each(['refund', 'chargeback'] as const)('%s.summary', (resource) => {
      const words = () => (resource === 'refund' ? refundWords : chargebackWords)
      const summary = async (params: object, of = shop): Promise<object> =>
        (await untilAvailable(() => of.call(`${resource}.summary`, params))).body.result
      const countsOf = (items: readonly Item[]): object => {
        const counts = words().map((word) => [word, items.filter(({ status }) => status === word).length])
        return { by_status: Object.fromEntries(counts) }
      }

      test('counts every status, within any bounds', async () => {
        const items = all[resource]
        const times = items.map(({ created_at }) => created_at)
        const bounds = [times[0], times.at(-1), times[Math.floor(times.length / 2)], '2026-01-01T00:00:00Z']
        expect(await summary({})).toEqual(countsOf(items))
        for (const created_from of bounds) {
          const from = Date.parse(created_from ?? '')
          expect(await summary({ created_from })).toEqual(
            countsOf(items.filter(({ created_at }) => Date.parse(created_at) >= from)),
          )
          expect(await summary({ created_to: created_from })).toEqual(
            countsOf(items.filter(({ created_at }) => Date.parse(created_at) < from)),
          )
        }
      })

      test('counts nothing of another merchant', async () => {
        expect(await summary({}, await system.newMerchant())).toEqual(countsOf([]))
      })
    })

    test('a change of status is counted as soon as it was answered', async () => {
      const other = await system.newMerchant()
      const { c_id } = await other.deposit()
      const params = { identifiers: { c_id: randomUUID() }, payment: { c_id } }
      const { body } = await other.call('refund.request', params)
      const summary = async () =>
        (await untilAvailable(() => other.call('refund.summary', {}))).body.result.by_status
      expect(await summary()).toMatchObject({ pending: 1, canceled: 0 })
      await system.operator(RefundService).cancelRefund({ refundId: body.result.identifiers.h_id })
      expect(await summary()).toMatchObject({ pending: 0, canceled: 1 })
    })

    const refundWords = ['pending', 'approved', 'rejected', 'canceled', 'completed', 'failed']
    const chargebackWords = ['open', 'under_review', 'won', 'lost', 'accepted']

    test('the operator lists the same, of one merchant, by status', async () => {
      const merchantId = shop.merchant_id
      const listed = await system
        .operator(RefundService)
        .listRefunds({ merchantId, environment: Environment.TEST, statuses: [RefundStatus.PENDING] })
      const expected = all.refund.filter(({ status }) => status === 'pending')
      expect(listed.refunds.map(({ refundId }) => refundId)).toEqual(
        expected.map((one) => one.identifiers.h_id),
      )
      const page = await system.operator(ChargebackService).listChargebacks({ merchantId, pageSize: 4 })
      const { chargebacks, nextPageToken: pageToken } = page
      const rest = await system.operator(ChargebackService).listChargebacks({ merchantId, pageToken })
      const ids = [...chargebacks, ...rest.chargebacks].map(({ chargebackId }) => chargebackId)
      expect(ids.toSorted()).toEqual(all.chargeback.map((one) => one.identifiers.h_id).toSorted())
    })

    describe('comments on a refund', () => {
      const comment = (refund: object, body: string, operation_id: string, of = shop) =>
        of.call('refund.comment.create', { refund, body }, operation_id)

      // S3, S6
      test('are stored once per operation, and are listed oldest first with the answers of the operator', async () => {
        const [refund] = all.refund
        const h_id = refund?.identifiers.h_id ?? ''
        const operation = randomUUID()
        const responses = await Promise.all(
          Array.from({ length: 5 }, () => comment({ h_id }, 'when?', operation)),
        )
        const [first] = responses.map(({ body }) => body.result)
        for (const { body } of responses) expect(body.result).toEqual(first)
        expect(first).toEqual({
          identifiers: { h_id: expect.stringMatching(/^[0-9a-f-]{36}$/) },
          author: 'merchant',
          body: 'when?',
          created_at: expect.any(String),
        })
        const other = await comment({ h_id }, 'where?', operation)
        expect(other).toMatchObject({ http_status: 409, body: { error: { code: 1013 } } })
        await system.operator(RefundService).answerRefund({ refundId: h_id, body: 'tomorrow' })
        await comment({ h_id }, 'thanks', randomUUID())
        const list = (more: object) => shop.call('refund.comments.list', { refund: { h_id }, ...more })
        const begin = (await list({ limit: 2 })).body.result
        const end = (await list({ limit: 2, cursor: begin.next_cursor })).body.result
        const bodies = [...begin.items, ...end.items].map(({ author, body }) => [author, body])
        expect(bodies).toEqual([
          ['merchant', 'when?'],
          ['support', 'tomorrow'],
          ['merchant', 'thanks'],
        ])
        expect(end.next_cursor).toBeNull()
        const foreign = { refund: { h_id: all.refund[2]?.identifiers.h_id }, cursor: begin.next_cursor }
        const refused = await shop.call('refund.comments.list', foreign)
        expect(refused.body.error).toMatchObject({ code: 9000, details: { description: 'params.cursor' } })
        const shown = await system.operator(RefundService).listRefundComments({ refundId: h_id })
        expect(shown.comments.map(({ body }) => body)).toEqual(['when?', 'tomorrow', 'thanks'])
      })

      // S6
      test('come after the position of every cursor, also of a process whose clock is behind', async () => {
        const clock = createAdjustableClock()
        const restoreClock = useClock(clock)
        try {
          clock.stopWall()
          const h_id = all.refund[4]?.identifiers.h_id ?? ''
          for (const body of ['one', 'two']) await comment({ h_id }, body, randomUUID())
          const list = async (more: object) =>
            (await shop.call('refund.comments.list', { refund: { h_id }, ...more })).body.result
          const begin = await list({ limit: 1 })
          clock.stepWall(-3_000)
          await comment({ h_id }, 'three', randomUUID())
          await system.operator(RefundService).answerRefund({ refundId: h_id, body: 'four' })
          const end = await list({ cursor: begin.next_cursor })
          const items: { body: string; created_at: string }[] = [...begin.items, ...end.items]
          expect(items.map(({ body }) => body)).toEqual(['one', 'two', 'three', 'four'])
          expect(new Set(items.map(({ created_at }) => created_at)).size).toBe(4)
        } finally {
          restoreClock()
        }
      })

      // S3
      test('of the operator are added once per operation_id, which another text gets 1013 for', async () => {
        const refundId = all.refund[1]?.identifiers.h_id ?? ''
        const operator = system.operator(RefundService)
        const operationId = randomUUID()
        const add = () => operator.answerRefund({ refundId, body: 'tomorrow', operationId })
        const added = await Promise.all(Array.from({ length: 5 }, add))
        const again = await add()
        for (const { comment } of added) expect(comment).toEqual(again.comment)
        expect((await operator.listRefundComments({ refundId })).comments).toEqual([again.comment])
        await expect(operator.answerRefund({ refundId, body: 'today', operationId })).rejects.toMatchObject({
          code: 1013,
        })
        // The operation of another refund is another one.
        const other = { refundId: all.refund[3]?.identifiers.h_id ?? '', operationId }
        await operator.answerRefund({ ...other, body: 'today' })
        const { comments } = await operator.listRefundComments({ refundId: other.refundId })
        expect(comments.map(({ body }) => body)).toEqual(['today'])
      })

      // E5, P2
      test.each([
        ['U+0000', { body: 'a\0b' }],
        ['5,001 characters', { body: '\u{1f600}'.repeat(5_001) }],
        ['a line break in the operation_id', { body: 'x', operationId: 'a\nb' }],
        ['an operation_id of 129 characters', { body: 'x', operationId: 'x'.repeat(129) }],
      ])('of the operator are refused with %s', async (_what, answer) => {
        const refundId = all.refund[1]?.identifiers.h_id ?? ''
        const answered = system.operator(RefundService).answerRefund({ refundId, ...answer })
        await expect(answered).rejects.toMatchObject({ code: 9000 })
      })

      // spec: Support methods, 6
      test('of a refund that the merchant does not have are 11001', async () => {
        const other = await system.newMerchant()
        const h_id = all.refund[0]?.identifiers.h_id
        const foreign = await comment({ h_id }, 'x', randomUUID(), other)
        const unknown = await comment({ h_id: randomUUID() }, 'x', randomUUID(), other)
        expect(unknown).toMatchObject({ http_status: 404, body: { error: { code: 11001 } } })
        expect([foreign.http_status, foreign.body.error]).toEqual([unknown.http_status, unknown.body.error])
        expect((await other.call('refund.comments.list', { refund: { h_id } })).body.error.code).toBe(11001)
      })

      // E4, E5
      test.each([
        ['no operation_id', { body: 'x' }, undefined, 1005, 'operation_id'],
        ['an empty text', { body: '' }, 'op', 9000, 'params.body'],
        ['a long text', { body: 'x'.repeat(5_001) }, 'op', 9000, 'params.body'],
      ])('refuse %s', async (_what, more, operation_id, code, description) => {
        const { body } = await shop.call(
          'refund.comment.create',
          { refund: { c_id: 'r' }, ...more },
          operation_id,
        )
        expect(body.error).toMatchObject({ code, details: { description } })
      })
    })
  })
}
