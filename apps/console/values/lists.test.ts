import { create } from '@bufbuild/protobuf'
import { timestampFromMs } from '@bufbuild/protobuf/wkt'
import { expect, test } from '@jest/globals'
import { GetOverviewResponseSchema } from '#gen/multihub/backoffice/v1/overview_service_pb.ts'
import { LedgerEntrySchema } from '#gen/multihub/balances/v1/balance_pb.ts'
import { Direction } from '#gen/multihub/merchants/v1/route_pb.ts'
import { PaymentSchema, PaymentStatus } from '#gen/multihub/payments/v1/payment_pb.ts'
import { listAddress } from './addresses.ts'
import { columnFields, csvHead, csvRow } from './csv.ts'
import { countedBy, countText, FOR_MACHINES, FOR_PERSONS } from './open-items.ts'
import { fillSlots } from './slots.ts'
import { providersOf } from './success.ts'

test('a file has whole ids, amounts in major units with their currency, and instants in UTC', () => {
  const fields = columnFields(PaymentSchema).filter(({ name }) =>
    ['c_id', 'amount', 'status', 'create_time', 'direction'].includes(name),
  )
  const payment = create(PaymentSchema, {
    cId: '=order,1',
    amount: { minor: 1_230_000n, currency: 'INR' },
    status: PaymentStatus.SUCCESS,
    direction: Direction.IN,
    createTime: timestampFromMs(0),
  })
  expect(csvHead(fields).trim().split(',').toSorted()).toEqual([
    'amount',
    'amount_currency',
    'c_id',
    'create_time',
    'direction',
    'status',
  ])
  const row = csvRow(fields, payment)
  for (const cell of ['"\'=order,1"', '12300.00,INR', 'success', 'in', '1970-01-01T00:00:00.000Z'])
    expect(row).toContain(cell)
  expect(row.endsWith('\r\n')).toBe(true)
})

test('balances in a file are in the currency of their entry, also negative ones', () => {
  const fields = columnFields(LedgerEntrySchema).filter(({ name }) => name === 'available_after')
  const entry = create(LedgerEntrySchema, { amount: { minor: 1n, currency: 'JPY' }, availableAfter: -5n })
  expect(csvRow(fields, entry)).toBe('-5\r\n')
  const rupees = create(LedgerEntrySchema, { amount: { minor: 1n, currency: 'INR' }, availableAfter: -5n })
  expect(csvRow(fields, rupees)).toBe('-0.05\r\n')
})

test('every number of the overview is a field of it, and leads to a list that knows its whole length', () => {
  const names = GetOverviewResponseSchema.fields.map(({ localName }) => localName)
  for (const { field, page, filters, also } of [...FOR_PERSONS, ...FOR_MACHINES]) {
    expect(names).toContain(field)
    for (const list of [page, also?.page ?? page]) expect(listAddress(list)?.path).toBe(`/${list}`)
    expect(countedBy(`/${page}`, filters ?? '')).toBe(filters === undefined ? undefined : field)
  }
  expect(countedBy('/payments', '')).toBeUndefined()
  const breakers = FOR_MACHINES.find(({ field }) => field === 'openBreakers')
  expect([breakers?.page, breakers?.also?.page]).toEqual(['providers', 'destinations'])
  expect([countText(999), countText(1_000)]).toEqual(['999', '1,000 or more'])
})

test('a chart has every slot of its time, also those without payments', () => {
  const slot = { startTime: timestampFromMs(120_000), created: 3n, ended: 2n, succeeded: 1n }
  expect(fillSlots([slot], { step_ms: 60_000, count: 3, now_ms: 199_000 })).toEqual([
    { start_ms: 60_000, created: 0, succeeded: 0, failed: 0 },
    { start_ms: 120_000, created: 3, succeeded: 1, failed: 1 },
    { start_ms: 180_000, created: 0, succeeded: 0, failed: 0 },
  ])
})

test('routes of one provider are added up, and a route whose provider is not known is left out', () => {
  const rate = { created: 2n, ended: 2n, good: 1n }
  const rates = ['1', '2', '3'].map((service_id) => ({ service_id, hour: rate, day: rate }))
  expect(providersOf(rates, (service_id) => (service_id === '3' ? undefined : 'sandbox'))).toEqual([
    {
      provider: 'sandbox',
      hour: { created: 4n, ended: 4n, good: 2n },
      day: { created: 4n, ended: 4n, good: 2n },
    },
  ])
})
