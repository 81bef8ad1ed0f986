import { expect, test } from '@jest/globals'
import fc from 'fast-check'
import { ENVIRONMENTS } from '#lib/contract/environment.ts'
import { propertyRuns } from '../../../test/support/property-runs.ts'
import { openTestStore } from '../../../test/support/store.ts'
import { AT, delivery } from '../delivery.fixture.ts'
import { blockDelivery, queueAgain, recordAttempt } from '../domain/attempt.ts'
import { DELIVERY_STATUSES, type Delivery, eraseDelivery } from '../domain/delivery.ts'
import type { DeliveryFilter } from '../domain/delivery-filter.ts'
import { openDeliveries } from '../store/deliveries.ts'
import { listDeliveries } from './list-deliveries.ts'

const ACTS = ['delivered', 'dead', 'blocked', 'replay', 'erase'] as const
const EVENTS = ['payment.completed', 'payment.failed'] as const
/** How many events a delivery can have. */
const EVENTS_MAX = 14

function after(before: Delivery, act: (typeof ACTS)[number]): Delivery {
  const result = { started_at: AT, duration_ms: 1 }
  if (before.erased_at !== undefined) return before
  if (act === 'erase') return eraseDelivery(before, AT)
  if (act === 'replay') return before.status === 'dead' ? queueAgain(before, AT) : before
  if (before.status !== 'pending') return before
  if (act === 'blocked') return blockDelivery(before, AT)
  return recordAttempt(before, act === 'dead' ? { ...result, failure: 'timeout' } : result, AT, 0)
}

const life = fc.record({
  merchant_id: fc.constantFrom('7001', '7002'),
  // A payment and an endpoint have one environment.
  of: fc.constantFrom(
    { environment: 'test', resource_id: 'p-1', endpoint_id: 'e-1' } as const,
    { environment: 'test', resource_id: 'p-2', endpoint_id: 'e-2' } as const,
    { environment: 'production', resource_id: 'p-3', endpoint_id: 'e-3' } as const,
  ),
  event: fc.constantFrom(...EVENTS),
  created_ms: fc.nat(5),
  acts: fc.array(fc.constantFrom(...ACTS), { maxLength: 3 }),
})
const maybe = <T>(...values: readonly T[]) => fc.option(fc.constantFrom(...values), { nil: undefined })
const query = fc.record({
  environment: maybe(...ENVIRONMENTS.names),
  event: maybe(...EVENTS),
  status: maybe(...DELIVERY_STATUSES),
  resource_id: fc.option(fc.constantFrom('p-1', 'p-3'), { nil: undefined, freq: 1 }),
  endpoint_id: fc.option(fc.constantFrom('e-1', 'e-3'), { nil: undefined, freq: 1 }),
  from_ms: maybe(1, 2),
  to_ms: maybe(3, 4),
  page_size: fc.constantFrom(1, 2, 5, 1_000),
})

/** The combinations that the contract refuses, said again (N6). */
function isRefused({
  event,
  status,
  resource_id,
  endpoint_id,
}: Omit<DeliveryFilter, 'merchant_id'>): boolean {
  return resource_id !== undefined && [event, status, endpoint_id].some((one) => one !== undefined)
}

// N6
test('lists deliveries of a merchant by each permitted combination, newest first, in full pages with bounded reads', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(life, { maxLength: 30, size: 'max' }),
      fc.array(query, { minLength: 1, maxLength: 12 }),
      async (lives, queries) => {
        await using opened = await openTestStore()
        const stored = await openDeliveries(opened.store)
        const known: Delivery[] = []
        for (const [index, { acts, of, created_ms, ...fields }] of lives.entries()) {
          const created = delivery({
            ...fields,
            ...of,
            destination_key: `endpoint:${of.endpoint_id}`,
            delivery_id: `d-${String(index).padStart(2, '0')}`,
            max_retries: 0,
            created_at: new Date(AT.getTime() + created_ms),
            kept_until: new Date('2100-01-01'),
          })
          const one = acts.reduce<Delivery>(after, created)
          await stored.insert(one)
          known.push(one)
        }
        known.sort(
          (a, b) =>
            b.created_at.getTime() - a.created_at.getTime() || (a.delivery_id < b.delivery_id ? 1 : -1),
        )
        let documents = 0
        const counted: Pick<typeof stored, 'find'> = {
          async find(index, range, options) {
            const found = await stored.find(index, range, options)
            documents += found.length
            return found
          },
        }
        for (const { page_size, from_ms, to_ms, ...fields } of queries) {
          const filter: DeliveryFilter = {
            ...fields,
            merchant_id: '7001',
            created_from: from_ms === undefined ? undefined : new Date(AT.getTime() + from_ms),
            created_to: to_ms === undefined ? undefined : new Date(AT.getTime() + to_ms),
          }
          if (isRefused(filter)) {
            await expect(listDeliveries(counted, filter, page_size, '')).rejects.toMatchObject({ code: 9000 })
            continue
          }
          const ids: string[] = []
          for (let page_token = ''; ; ) {
            documents = 0
            const page = await listDeliveries(counted, filter, page_size, page_token)
            // An endpoint and a status are read in ranges for each event, an endpoint for each status too.
            const { endpoint_id, event, status } = filter
            const of_events = event === undefined && (endpoint_id ?? status) !== undefined ? EVENTS_MAX : 1
            const ranges = of_events * (endpoint_id === undefined ? 2 : DELIVERY_STATUSES.length)
            expect(documents).toBeLessThanOrEqual(2 * (page_size + 1) + 2 * ranges)
            ids.push(...page.deliveries.map(({ delivery_id }) => delivery_id))
            if (page.next_page_token === '') break
            expect(page.deliveries).toHaveLength(page_size)
            page_token = page.next_page_token
          }
          const { created_from, created_to } = filter
          const expected = known.filter(
            (one) =>
              one.merchant_id === '7001' &&
              Object.entries(fields).every(
                ([name, value]) => value === undefined || Reflect.get(one, name) === value,
              ) &&
              (created_from === undefined || one.created_at >= created_from) &&
              (created_to === undefined || one.created_at < created_to),
          )
          expect(ids).toEqual(expected.map(({ delivery_id }) => delivery_id))
        }
      },
    ),
    { numRuns: propertyRuns(40) },
  )
})
