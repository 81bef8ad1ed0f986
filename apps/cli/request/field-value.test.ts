import type { DescMessage, Message } from '@bufbuild/protobuf'
import { timestampDate } from '@bufbuild/protobuf/wkt'
import { expect, test } from '@jest/globals'
import { ListEntriesRequestSchema } from '#gen/multihub/balances/v1/balance_service_pb.ts'
import { CreateRouteRequestSchema } from '#gen/multihub/merchants/v1/route_service_pb.ts'
import { parseValue, valueShown } from './field-value.ts'

const fieldOf = ({ fields, name }: DescMessage, wanted: string) => {
  const field = fields.find((one) => one.name === wanted)
  if (field === undefined) throw new TypeError(`${name} has no ${wanted}`)
  return field
}
const LIMITS = fieldOf(CreateRouteRequestSchema, 'payout_limits')
const FROM = fieldOf(ListEntriesRequestSchema, 'created_from')

test.each([
  ['daily=1000,monthly=5000.50', 'INR', false, { daily: 100_000n, monthly: 500_050n }],
  ['daily=1000 INR', 'INR', false, { daily: 100_000n }],
  ['daily=10.50 INR', undefined, false, { daily: 1_050n }],
  ['since_settlement=7', 'JPY', false, { sinceSettlement: 7n }],
  ['minimum=1000', 'INR', true, { minimum: 1_000n }],
  ['{"daily":"1000"}', 'INR', false, { daily: 1_000n }],
] as const)('limits %s in %s (minor units: %s)', (text, currency, is_minor, parts) => {
  expect(parseValue(LIMITS, text, { is_minor, currency }) as Message).toMatchObject(parts)
})

test.each([
  ['daily=1000', undefined, false, 'with its currency'],
  ['daily=1.5', 'JPY', false, 'at most 0 decimal places'],
  ['daily=10 EUR', 'INR', false, 'an amount in INR'],
  ['daily=many', 'INR', false, 'an amount such as'],
  ['weekly=10', 'INR', false, 'weekly'],
  ['daily=100.50', 'INR', true, 'an integer, because of --minor'],
])('limits %s in %s (minor units: %s) are refused', (text, currency, is_minor, problem) => {
  expect(() => parseValue(LIMITS, text, { is_minor, currency })).toThrow(problem)
})

test('the help says that limits are amounts', () => {
  expect(valueShown(LIMITS)).toBe('<minimum=amount,...>')
})

const timeOf = (text: string): string =>
  timestampDate(parseValue(FROM, text, { is_minor: false, currency: undefined }) as never).toISOString()

test.each([
  ['2026-11-22', '2026-11-22T00:00:00.000Z'],
  ['2026-11-22T08:00', '2026-11-22T08:00:00.000Z'],
  ['2026-11-22T08:00:00', '2026-11-22T08:00:00.000Z'],
  ['2026-11-22 08:00:00', '2026-11-22T08:00:00.000Z'],
  ['2026-11-22 08:00:00 UTC', '2026-11-22T08:00:00.000Z'],
  ['2026-11-22T08:00:00.574Z', '2026-11-22T08:00:00.574Z'],
  ['2026-11-22T08:00:00+05:30', '2026-11-22T02:30:00.000Z'],
])('the time %s is %s in every zone of this machine', (text, time) => {
  const zone = process.env['TZ']
  try {
    for (const other of ['Asia/Kolkata', 'America/New_York']) {
      process.env['TZ'] = other
      expect(timeOf(text)).toBe(time)
    }
  } finally {
    if (zone === undefined) delete process.env['TZ']
    else process.env['TZ'] = zone
  }
})

test.each([
  'yesterday',
  '2026-13-01',
  '2026-11-22T25:00',
  '2026-11-22T08',
  '2026-11-22T08:00:00 CET',
  '22.11.2026',
])('the time %s is refused', (text) => expect(() => timeOf(text)).toThrow('takes a time such as'))
