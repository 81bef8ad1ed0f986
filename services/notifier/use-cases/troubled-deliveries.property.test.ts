import { expect, test } from '@jest/globals'
import fc from 'fast-check'
import { ENVIRONMENTS } from '#lib/contract/environment.ts'
import { propertyRuns } from '../../../test/support/property-runs.ts'
import { openTestStore } from '../../../test/support/store.ts'
import { AT, delivery } from '../delivery.fixture.ts'
import { blockDelivery, queueAgain, queueProbe, recordAttempt } from '../domain/attempt.ts'
import { type Delivery, eraseDelivery, TROUBLES } from '../domain/delivery.ts'
import { openDeliveries } from '../store/deliveries.ts'
import { listTroubled, summarizeDeliveries, type TroubleFilter } from './troubled-deliveries.ts'

const ACTS = ['success', 'failure', 'breaker_open', 'block', 'replay', 'probe', 'erase'] as const
type Act = (typeof ACTS)[number]

/** What happens to a delivery, where that can happen. */
function after(before: Delivery, act: Act, at: Date): Delivery {
  if (before.erased_at !== undefined) return before
  const is_open = before.status === 'pending'
  switch (act) {
    case 'success':
      return is_open ? recordAttempt(before, { started_at: at, duration_ms: 1 }, at, 0) : before
    case 'failure':
    case 'breaker_open': {
      const failure = act === 'failure' ? 'http_status' : act
      return is_open ? recordAttempt(before, { started_at: at, duration_ms: 1, failure }, at, 0) : before
    }
    case 'block':
      return is_open ? blockDelivery(before, at) : before
    case 'replay':
      return before.status === 'dead' || before.status === 'blocked' ? queueAgain(before, at) : before
    case 'probe':
      return before.status === 'dead' && before.waits_since !== undefined ? queueProbe(before, at) : before
    case 'erase':
      return eraseDelivery(before, at)
  }
}

/** What keeps a delivery from its receiver, said again in the words of the contract. */
function troubleOf({ status, waits_since, attempts, erased_at }: Delivery) {
  if (status === 'delivered' || erased_at !== undefined) return undefined
  if (status === 'blocked' || waits_since !== undefined) return 'held'
  if (status === 'dead') return 'dead'
  return attempts.some(({ failure }) => failure !== undefined) ? 'failing' : undefined
}

const life = fc.record({
  merchant_id: fc.constantFrom('7001', '7002'),
  environment: fc.constantFrom(...ENVIRONMENTS.names),
  destination_key: fc.constantFrom('endpoint:e-1', 'endpoint:e-2'),
  acts: fc.array(fc.constantFrom(...ACTS), { maxLength: 8 }),
})
const query = fc.record({
  environment: fc.option(fc.constantFrom(...ENVIRONMENTS.names), { nil: undefined }),
  trouble: fc.option(fc.constantFrom(...TROUBLES), { nil: undefined }),
  destination_key: fc.option(fc.constantFrom('endpoint:e-1', 'endpoint:e-3'), { nil: undefined }),
  page_size: fc.constantFrom(1, 2, 5, 1_000),
})

// O8
test('lists and counts what cannot reach its receiver, the longest first, with bounded reads', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(life, { maxLength: 30, size: 'max' }),
      fc.array(query, { maxLength: 6 }),
      async (lives, queries) => {
        await using opened = await openTestStore()
        const stored = await openDeliveries(opened.store)
        const troubled: { readonly one: Delivery; readonly trouble: string; readonly since_ms: number }[] = []
        for (const [index, { acts, ...of }] of lives.entries()) {
          let one = delivery({
            ...of,
            delivery_id: `d-${String(index).padStart(2, '0')}`,
            max_retries: 2,
            kept_until: new Date('2100-01-01'),
          })
          let since_ms = 0
          for (const [step, act] of acts.entries()) {
            const at = new Date(AT.getTime() + step * 1_000)
            const next = after(one, act, at)
            if (troubleOf(next) !== troubleOf(one)) since_ms = at.getTime()
            one = next
          }
          await stored.insert(one)
          const trouble = troubleOf(one)
          if (trouble !== undefined) troubled.push({ one, trouble, since_ms })
        }
        troubled.sort((a, b) => a.since_ms - b.since_ms || (a.one.delivery_id < b.one.delivery_id ? -1 : 1))
        let documents = 0
        const counted: Pick<typeof stored, 'find'> = {
          async find(index, range, options) {
            const found = await stored.find(index, range, options)
            documents += found.length
            return found
          },
        }
        for (const { page_size, ...filter } of queries) {
          const ids: string[] = []
          for (let page_token = ''; ; ) {
            documents = 0
            const page = await listTroubled(counted, filter, { page_size, page_token })
            // Six ranges at most.
            expect(documents).toBeLessThanOrEqual(2 * (page_size + 1) + 2 * 6)
            ids.push(...page.items.map(({ delivery_id }) => delivery_id))
            if (page.next_page_token === '') break
            expect(page.items).toHaveLength(page_size)
            page_token = page.next_page_token
          }
          const matches = ({ environment, trouble, destination_key }: TroubleFilter) =>
            troubled.filter(
              (known) =>
                (environment ?? known.one.environment) === known.one.environment &&
                (trouble ?? known.trouble) === known.trouble &&
                (destination_key ?? known.one.destination_key) === known.one.destination_key,
            )
          expect(ids).toEqual(matches(filter).map(({ one }) => one.delivery_id))
        }
        const summary = await summarizeDeliveries({
          deliveries: stored,
          destinations: { find: async () => [] },
        })
        const dead = troubled.filter(({ trouble }) => trouble === 'dead')
        expect(summary.deadDeliveries.count).toBe(dead.length)
        expect(Number(summary.deadDeliveries.oldestTime?.seconds ?? 0) * 1_000).toBe(dead[0]?.since_ms ?? 0)
        const held = troubled.filter(({ trouble }) => trouble === 'held')
        expect(summary.heldDeliveries.count).toBe(held.length)
      },
    ),
    { numRuns: propertyRuns(40) },
  )
})
