import { create } from '@bufbuild/protobuf'
import { timestampFromDate, timestampFromMs } from '@bufbuild/protobuf/wkt'
import { describe, expect, test } from '@jest/globals'
import { Direction } from '#gen/multihub/merchants/v1/route_pb.ts'
import { OperationType, PaymentSchema, PaymentStatus } from '#gen/multihub/payments/v1/payment_pb.ts'
import { ListPaymentsRequestSchema } from '#gen/multihub/payments/v1/payment_service_pb.ts'
import { addressOf, kindOfField, shortId } from './addresses.ts'
import { completions, readFilters } from './filter-tokens.ts'
import { sharesOf } from './payment-money.ts'
import { isWorse, routesOf, shareText, successOf } from './success.ts'
import { groupRows, isInLane } from './timeline-groups.ts'
import { spanOf, wordsOf } from './times.ts'

const FILTERS = { status: 'statuses', merchant: 'merchant_id', route: 'service_id', created: 'created_from' }
const NOW_MS = new Date(2026, 10, 28, 12).getTime()
const read = (text: string) =>
  readFilters(text, FILTERS, ListPaymentsRequestSchema, { now_ms: NOW_MS, zone: 'local' })

describe('filters', () => {
  test('become fields of the request', () => {
    expect(read(' status:success,error  merchant:1001 route:30001 created:2026-11-27 ')).toEqual({
      problems: [],
      request: {
        statuses: [PaymentStatus.SUCCESS, PaymentStatus.ERROR],
        merchantId: '1001',
        serviceId: '30001',
        createdFrom: timestampFromDate(new Date(2026, 10, 27)),
        createdTo: timestampFromDate(new Date(2026, 10, 28)),
      },
    })
  })

  test.each([
    'success',
    'amount:5',
    'status:paid',
    'status:unspecified',
    'route:x',
    'created:soon',
    'created:2026-02-30',
    'merchant:1 merchant:2',
    'status:',
  ])('%j is a problem and never left out', (text) => {
    expect(read(text).problems).toHaveLength(1)
  })

  test('are completed from what the request has', () => {
    const complete = (text: string) => completions(text, FILTERS, ListPaymentsRequestSchema)
    expect(complete('merchant:1 sta')).toEqual(['merchant:1 status:'])
    expect(complete('status:pa')).toEqual(['status:partially_refunded'])
    expect(complete('created:y')).toEqual(['created:yesterday'])
  })
})

describe('times', () => {
  test('are written in a zone, which is named', () => {
    const time = timestampFromMs(Date.UTC(2026, 10, 28, 20, 5, 6, 7))
    expect(wordsOf(time, 'UTC')).toEqual({ day: '2026-11-28', time: '20:05:06.007', zone: 'UTC' })
    expect(wordsOf(time, 'Asia/Kolkata')).toMatchObject({ day: '2026-11-29', time: '01:35:06.007' })
  })

  test('of filters are counted from now', () => {
    expect(spanOf('2h', NOW_MS, 'local')).toEqual({ from_ms: NOW_MS - 7_200_000 })
    expect(spanOf('today', NOW_MS, 'local')).toEqual({ from_ms: new Date(2026, 10, 28).getTime() })
  })

  test.each([
    ['today', 'UTC', '2026-11-28T00:00Z', undefined],
    ['today', 'Asia/Kolkata', '2026-11-28T18:30Z', undefined],
    ['yesterday', 'Asia/Kolkata', '2026-11-27T18:30Z', '2026-11-28T18:30Z'],
    ['2026-10-25', 'Europe/Berlin', '2026-10-24T22:00Z', '2026-10-25T23:00Z'],
    ['2026-03-29', 'Europe/Berlin', '2026-03-28T23:00Z', '2026-03-29T22:00Z'],
    ['2026-11-01', 'America/New_York', '2026-11-01T04:00Z', '2026-11-02T05:00Z'],
  ])('%s begins at 00:00 in %s', (words, zone, from, to) => {
    expect(spanOf(words, Date.UTC(2026, 10, 28, 20), zone)).toEqual({
      from_ms: Date.parse(from),
      ...(to !== undefined && { to_ms: Date.parse(to) }),
    })
  })
})

test('the money of a deposit is shared among refunds, chargebacks that are not won, and what remains', () => {
  const money = (minor: bigint) => ({ minor, currency: 'INR' })
  const refund = (minor: bigint, status: PaymentStatus) => ({
    type: OperationType.REFUND,
    amount: money(minor),
    status,
  })
  const payment = create(PaymentSchema, {
    direction: Direction.IN,
    status: PaymentStatus.PARTIALLY_REFUNDED,
    amount: money(1_000n),
    operations: [
      refund(100n, PaymentStatus.SUCCESS),
      refund(50n, PaymentStatus.PROCESSING),
      refund(500n, PaymentStatus.ERROR),
    ],
  })
  const chargeback = (chargeback_id: string, status: string) => ({
    kind: 'chargeback',
    data: { chargeback_id, amount: '200', status },
  })
  const rows = [chargeback('a', 'open'), chargeback('b', 'open'), chargeback('b', 'won')]
  expect(sharesOf(payment, rows)).toMatchObject({
    refunded: 100n,
    refunding: 50n,
    charged_back: 200n,
    remaining: 650n,
  })
  expect(sharesOf({ ...payment, status: PaymentStatus.PROCESSING }, rows)).toBeUndefined()
})

test('success is the share of what ended, and worse than usual only when chance is no explanation', () => {
  const count = (serviceId: string, status: PaymentStatus, number: number) => ({
    serviceId,
    status,
    count: BigInt(number),
  })
  const day = [
    count('1', PaymentStatus.CREATED, 100),
    count('1', PaymentStatus.SUCCESS, 98),
    count('1', PaymentStatus.ERROR, 2),
    count('2', PaymentStatus.CREATED, 200),
  ]
  expect(shareText(successOf(day))).toBe('98.0 %')
  expect(routesOf([], day).map(({ service_id }) => service_id)).toEqual(['2', '1'])
  const hour = (good: bigint, ended: bigint) => ({ created: ended, ended, good })
  expect(isWorse(hour(18n, 20n), successOf(day))).toBe(true)
  expect(isWorse(hour(1n, 2n), successOf(day))).toBe(false)
})

test('the tries of a delivery are one group at the place of the first, and unknown kinds are seen', () => {
  const row = (kind: string, id: string) => ({ kind, refs: [{ kind, id }] })
  const groups = groupRows([
    row('delivery', 'a'),
    row('status', 'x'),
    row('delivery', 'b'),
    row('delivery', 'a'),
  ])
  expect(groups.map(({ rows }) => rows.length)).toEqual([2, 1, 1])
  expect(isInLane('something new', 'payment')).toBe(true)
})

test('ids lead to their pages and are shortened in the middle', () => {
  expect(addressOf('payment', 'a/b')).toEqual({ path: '/payments/a%2Fb' })
  expect(addressOf('exchange', 'a')).toEqual({ path: '/requests', search: { open: 'a' } })
  expect(addressOf('ledger_entry', 'a')).toBeUndefined()
  expect(kindOfField('account_id')).toBe('provider_account')
  expect(shortId('01a2245a-1234-7000-8000-00002249bd')).toBe('01a2245a…2249bd')
})
