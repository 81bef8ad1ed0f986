import { expect, test } from '@jest/globals'
import fc from 'fast-check'
import { propertyRuns } from '../../../test/support/property-runs.ts'
import { ANOMALY_KINDS, type Anomaly } from '../domain/anomaly.ts'
import { openPayments } from '../payments-store.fixture.ts'
import { type AnomalyFilter, listAnomalies } from './list-anomalies.ts'

const START_MS = Date.UTC(2026, 10, 21)
const KINDS = ANOMALY_KINDS.slice(0, 3)
const MERCHANTS = ['', '7001', '7002']
const ACCOUNTS = ['first', 'second']
const PAYMENTS = ['payment-1', 'payment-2']

const maybe = <T>(arbitrary: fc.Arbitrary<T>) => fc.option(arbitrary, { nil: undefined })
const anomaly = fc.record({
  merchant_id: fc.constantFrom(...MERCHANTS),
  account_id: maybe(fc.constantFrom(...ACCOUNTS)),
  payment_id: fc.constantFrom(...PAYMENTS),
  kind: fc.constantFrom(...KINDS),
  at: fc.nat(5),
  is_open: fc.boolean(),
})
const filter = fc
  .record({
    scope: fc.oneof(
      fc.record({ merchant_id: maybe(fc.constantFrom('7001', '7002', '7003')) }),
      fc.record({ account_id: fc.constantFrom(...ACCOUNTS, 'third') }),
    ),
    payment_id: maybe(fc.constantFrom(...PAYMENTS, 'payment-3')),
    kind: maybe(fc.constantFrom(...KINDS)),
    is_open: fc.boolean(),
  })
  .map(({ scope, ...rest }): AnomalyFilter => ({ ...scope, ...rest }))

function expected(stored: readonly Anomaly[], wanted: AnomalyFilter): string[] {
  return stored
    .filter((one) => wanted.merchant_id === undefined || one.merchant_id === wanted.merchant_id)
    .filter((one) => wanted.account_id === undefined || one.account_id === wanted.account_id)
    .filter((one) => wanted.payment_id === undefined || one.payment_id === wanted.payment_id)
    .filter((one) => wanted.kind === undefined || one.kind === wanted.kind)
    .filter((one) => !wanted.is_open || one.open_since !== undefined)
    .sort((a, b) => {
      const times = b.created_at.getTime() - a.created_at.getTime()
      const ids = (one: Anomaly): string => `${one.merchant_id.padStart(4)} ${one.anomaly_id}`
      return times || (ids(a) < ids(b) ? 1 : -1)
    })
    .map(({ anomaly_id }) => anomaly_id)
}

// O8
test('every filter lists what it must, in order, with bounded reads and no empty page before the last', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(anomaly, { maxLength: 50, size: 'max' }),
      fc.array(fc.record({ filter, size: fc.constantFrom(1, 3, 100) }), { minLength: 8, maxLength: 8 }),
      async (drawn, lists) => {
        await using fixture = await openPayments()
        const { anomalies } = fixture.store
        const stored = drawn.map(({ at, is_open, ...one }, number): Anomaly => {
          const created_at = new Date(START_MS + at)
          const anomaly_id = `anomaly-${String(number).padStart(2, '0')}`
          const open = is_open ? { open_since: created_at } : {}
          return { ...one, ...open, anomaly_id, environment: 'test', description: '', created_at }
        })
        await Promise.all(stored.map((one) => anomalies.insert(one)))
        let read = 0
        const find: typeof anomalies.find = async (...call) => {
          const found = await anomalies.find(...call)
          read += found.length
          return found
        }
        for (const { filter: wanted, size } of lists) {
          const listed: string[] = []
          let page_token = ''
          do {
            read = 0
            const page = await listAnomalies({ find }, wanted, { page_size: size, page_token })
            expect(page.next_page_token === '' || page.items.length > 0).toBe(true)
            if (wanted.payment_id === undefined)
              expect(read).toBeLessThanOrEqual(2 * (size + 1) + 2 * ANOMALY_KINDS.length)
            listed.push(...page.items.map(({ anomaly_id }) => anomaly_id))
            page_token = page.next_page_token
          } while (page_token !== '')
          expect(listed).toEqual(expected(stored, wanted))
        }
      },
    ),
    { numRuns: propertyRuns(100) },
  )
})
