import { beforeAll, describe, expect, test } from '@jest/globals'
import { eventually } from '../../test/support/eventually.ts'
import type { TestCli } from './cli.fixture.ts'

/** `timeline`, `payments show` and `search` by every kind of identifier. */
export function timelineSuite(cli: () => TestCli): void {
  describe('by any identifier', () => {
    let made: { readonly cId: string; readonly references: readonly { kind: string; id: string }[] }
    const idOf = (kind: string) => made.references.find((one) => one.kind === kind)?.id ?? ''
    beforeAll(async () => {
      const { application_id, merchant_id } = cli().shop
      made = await cli().json(
        ...['trigger', 'refund.requested', '--application', application_id, '--merchant', merchant_id],
        ...['--amount', '123.00 INR', '--c-id', 'order-17'],
      )
    })

    test('a payment is found by its own ids, by its refund, and by the request that made it', async () => {
      const { payment } = await cli().json('payments', 'show', idOf('payment'))
      // Exchanges are stored after the answer.
      const request = await eventually(
        async () => {
          const exchanges = await cli().json('exchanges', 'list', '--merchant', cli().shop.merchant_id)
          return exchanges.find((one: { method: string }) => one.method === 'payment.in')
        },
        (found) => found !== undefined,
      )
      expect(payment.pId).not.toBe('')
      for (const id of [
        'order-17',
        idOf('payment'),
        payment.hId,
        payment.pId,
        idOf('refund'),
        request.requestId,
      ]) {
        expect([id, (await cli().json('timeline', id)).payment.paymentId]).toEqual([id, idOf('payment')])
        expect([id, (await cli().json('payments', 'show', id)).payment.paymentId]).toEqual([
          id,
          idOf('payment'),
        ])
      }
      const { out } = await cli().run(['timeline', 'order-17'], {
        columns: 80,
        variables: { ...cli().variables, NO_COLOR: '1' },
      })
      expect(out).toMatch(/^Deposit 123\.00 INR {2}success {2}order-17 /)
      expect(out).toMatch(/^next {2}Refund of 123\.00 INR waits for/m)
    })

    test('a reference of two merchants lists both payments to choose from', async () => {
      const other = await cli().json(
        'merchants',
        'create',
        '--name',
        'b',
        '--timezone',
        'UTC',
        '--environments',
        'test',
      )
      const route = await cli().json(
        ...['routes', 'create', '--merchant', other.merchantId, '--environment', 'test', '--direction', 'in'],
        ...[
          '--method',
          'upi',
          '--currency',
          'INR',
          '--connector',
          'sandbox',
          '--provider-accounts',
          'sandbox',
        ],
        ...['--expires-in-seconds', '600', '--h-id-format', 'uuid'],
      )
      const { credential } = await cli().json(
        ...[
          'credentials',
          'create',
          '--merchant',
          other.merchantId,
          '--environment',
          'test',
          '--api-version',
          'v2',
        ],
        ...['--service-ids', route.serviceId],
      )
      const second = await cli().json(
        ...[
          'trigger',
          'payment.created',
          '--application',
          credential.applicationId,
          '--merchant',
          other.merchantId,
        ],
        ...['--amount', '5.00 INR', '--c-id', 'order-17'],
      )
      const second_id = second.references.find((one: { kind: string }) => one.kind === 'payment').id
      const { code, out, err } = await cli().run(['timeline', 'order-17'])
      expect([code, out]).toEqual([2, ''])
      const [head, ...lines] = err.trimEnd().split('\n')
      expect(head).toBe('order-17 names 2 payments; choose one:')
      expect(
        lines.map((line) => /multihub timeline (\S+) {3}merchant (\d+)/.exec(line)?.slice(1)).sort(),
      ).toEqual(
        [
          [idOf('payment'), cli().shop.merchant_id],
          [second_id, other.merchantId],
        ].sort(),
      )
    })

    test('what is no payment says what it is, and what is nothing is refused', async () => {
      expect(await cli().run(['timeline', cli().shop.merchant_id])).toMatchObject({
        code: 1,
        err: expect.stringMatching(/is not a payment.*merchant, shop\nmultihub merchants show \d+\n$/),
      })
      expect(await cli().run(['timeline', '01a2244b-962d-72b9-b247-b15a79ee9078'])).toMatchObject({ code: 1 })
      expect(await cli().run(['payments', 'show'])).toMatchObject({
        code: 2,
        err: expect.stringContaining('--c-id'),
      })
    })

    test('the entries of the ledger are CSV with amounts in major units', async () => {
      const list = ['balances', 'entries', '--merchant', cli().shop.merchant_id, '--environment', 'test']
      const { out } = await cli().run([...list, '--csv'])
      expect(out).toMatch(/^create_time,entry_id,.*\r?\n.*,clearing,available,123.00,INR,/)
      expect(
        (await cli().run([...list, '--jsonl'])).out
          .trim()
          .split('\n')
          .map((line) => JSON.parse(line)),
      ).toEqual(await cli().json(...list))
    })
  })
}
