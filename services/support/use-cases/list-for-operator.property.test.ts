import { afterAll, beforeAll, expect, test } from '@jest/globals'
import fc from 'fast-check'
import type { MerchantScope } from '#lib/contract/merchant-scope.ts'
import type { Page } from '#lib/patterns/paging/read-page.ts'
import type { Collection } from '#lib/store/store.ts'
import { propertyRuns } from '../../../test/support/property-runs.ts'
import { openTestStore, type TestStore } from '../../../test/support/store.ts'
import { CHARGEBACK_LIST } from '../chargebacks/store/chargebacks.ts'
import type { DeadlineList, ListedResource, ResourceList } from '../domain/resource-list.ts'
import { REFUND_LIST } from '../refunds/store/refunds.ts'
import { openSupportStore, type SupportStore } from '../store/support-store.ts'
import { TICKET_LIST } from '../tickets/store/tickets.ts'
import { listByDeadline, listForOperator, type OperatorFilter } from './list-for-operator.ts'

/** A resource of any kind, with the fields that lists read. */
type Resource = ListedResource & { readonly id: string; readonly [field: string]: unknown }

interface Kind {
  readonly list: ResourceList & { readonly deadlines?: DeadlineList }
  readonly collection: (store: SupportStore) => unknown
}

const KINDS: Readonly<Record<string, Kind>> = {
  refunds: { list: REFUND_LIST, collection: ({ refunds }) => refunds },
  chargebacks: { list: CHARGEBACK_LIST, collection: ({ chargebacks }) => chargebacks },
  tickets: { list: TICKET_LIST, collection: ({ tickets }) => tickets },
}

const scope: fc.Arbitrary<MerchantScope> = fc.record({
  merchant_id: fc.constantFrom('7001', '7002', '80'),
  environment: fc.constantFrom('test', 'production'),
})
const instant = fc.integer({ min: 0, max: 12 }).map((at) => new Date(at * 1_000))
const oneOf = (words: readonly string[] = []) => fc.constantFrom(...words)

/** Resources of three merchants; times and deadlines often coincide. */
function resources({ words, id_field, key_field, time_field, deadlines }: Kind['list']) {
  const one = fc.record({
    scope,
    at: instant,
    words: fc.record(Object.fromEntries(Object.entries(words).map(([field, all]) => [field, oneOf(all)]))),
    payment: fc.option(fc.constantFrom('p-1', 'p-2'), { nil: undefined }),
    deadline: fc.option(instant, { nil: undefined }),
    is_deleted: fc.integer({ min: 0, max: 9 }).map((n) => n === 0),
  })
  return fc.array(one, { maxLength: 60, size: 'max' }).map((some) =>
    some.map(({ scope: of, at, words: chosen, payment, deadline, is_deleted }, index): Resource => {
      const id = `id-${String(index).padStart(3, '0')}`
      const is_open = deadlines?.statuses.includes(chosen['status'] ?? '')
      const is_listed = time_field === 'created_at' || !is_deleted
      return {
        ...of,
        ...chosen,
        id,
        [id_field]: id,
        [key_field]: key_field === id_field ? id : `key-${index}`,
        created_at: at,
        updated_at: at,
        last_activity_at: at,
        effects: [],
        ...(is_listed && { [time_field]: at }),
        ...(payment && { payment: { payment_id: payment, c_id: 'c', h_id: 'h' } }),
        ...(is_listed && is_open && deadlines && deadline && { [deadlines.field]: deadline }),
      }
    }),
  )
}

const optional = <T>(of: fc.Arbitrary<T>) => fc.option(of, { nil: undefined })

function filters({ words, operator_fields }: Kind['list']): fc.Arbitrary<OperatorFilter> {
  const only = operator_fields.map((field) => [field, fc.array(oneOf(words[field]), { maxLength: 3 })])
  return fc
    .record({
      merchant_id: optional(fc.constantFrom('7001', '7002', '9')),
      environment: optional(fc.constantFrom('test' as const, 'production' as const)),
      only: fc.record(Object.fromEntries(only) as Record<string, fc.Arbitrary<string[]>>),
      payment_id: fc.option(fc.constantFrom('p-1', 'p-3'), { nil: undefined, freq: 3 }),
      created_from: optional(instant),
      created_to: optional(instant),
    })
    .map(({ created_from, created_to, ...rest }) => ({
      ...rest,
      ...(created_from && { created_from }),
      ...(created_to && { created_to }),
    }))
}

/** The naive model: all resources that the filter names, in order. */
function expected(
  list: Kind['list'],
  all: readonly Resource[],
  filter: OperatorFilter,
  { field, reverse }: { readonly field: string; readonly reverse: boolean },
): readonly string[] {
  const timeOf = (one: Resource): Date | undefined => one[field] as Date | undefined
  const shown = all.filter(
    (one) =>
      timeOf(one) !== undefined &&
      (filter.merchant_id ?? one.merchant_id) === one.merchant_id &&
      (filter.environment ?? one.environment) === one.environment &&
      (filter.payment_id === undefined || one.payment?.payment_id === filter.payment_id) &&
      Object.entries(filter.only).every(([word, some]) => !some.length || some.includes(String(one[word]))) &&
      (field !== list.time_field || one.created_at >= (filter.created_from ?? new Date(0))) &&
      (field !== list.time_field || !filter.created_to || one.created_at < filter.created_to),
  )
  const sorted = shown.toSorted(
    (a, b) => Number(timeOf(a)) - Number(timeOf(b)) || (a.id < b.id ? -1 : a.id > b.id ? 1 : 0),
  )
  return (reverse ? sorted.toReversed() : sorted).map(({ id }) => id)
}

/** Reads all pages. Every page but the last is full, and none reads more than a bound. */
async function readAll(
  read: { documents: number },
  page_size: number,
  readPage: (page: { readonly page_size: number; readonly page_token: string }) => Promise<Page<Resource>>,
): Promise<readonly string[]> {
  const ids: string[] = []
  for (let page_token = ''; ; ) {
    read.documents = 0
    const { items, next_page_token } = await readPage({ page_size, page_token })
    // A merged range reads two documents more than it needs; no list has more than 192 ranges.
    expect(read.documents).toBeLessThanOrEqual(2 * (page_size + 1) + 2 * 192)
    ids.push(...items.map(({ id }) => id))
    if (next_page_token === '') return ids
    expect(items).toHaveLength(page_size)
    page_token = next_page_token
  }
}

let opened: TestStore
beforeAll(async () => {
  opened = await openTestStore()
})
afterAll(async () => opened[Symbol.asyncDispose]())

// O8
test.each(Object.entries(KINDS))(
  'the lists of %s are those of a naive model, in pages of any size, with bounded reads',
  async (_name, { list, collection: collectionIn }) => {
    const store = await openSupportStore(opened.store)
    const collection = collectionIn(store) as Collection<Resource>
    const read = { documents: 0 }
    const counted: Pick<Collection<Resource>, 'find'> = {
      async find(index, range, options) {
        const found = await collection.find(index, range, options)
        read.documents += found.length
        return found
      },
    }
    const source = { ...list, collection: counted }
    const query = fc.record({
      filter: filters(list),
      page_size: fc.constantFrom(1, 2, 3, 7, 1_000),
      oldest_first: fc.boolean(),
    })
    await fc.assert(
      fc.asyncProperty(
        resources(list),
        fc.array(query, { minLength: 1, maxLength: 8 }),
        async (all, queries) => {
          const stored = await Promise.all(all.map((one) => collection.insert(one)))
          try {
            for (const { filter, page_size, oldest_first } of queries) {
              const order = { field: list.time_field, reverse: !oldest_first }
              expect(
                await readAll(read, page_size, (page) =>
                  listForOperator<Resource>(source, filter, { ...page, oldest_first }),
                ),
              ).toEqual(expected(list, all, filter, order))
              if (!list.deadlines) continue
              const { payment_id: _payment, created_from: _from, created_to: _to, ...open } = filter
              const due = { ...source, deadlines: list.deadlines }
              expect(
                await readAll(read, page_size, (page) => listByDeadline<Resource>(due, open, page)),
              ).toEqual(expected(list, all, open, { field: list.deadlines.field, reverse: false }))
            }
          } finally {
            const keys = ['merchant_id', 'environment', list.key_field]
            for (const one of stored)
              await collection.delete(
                Object.fromEntries(keys.map((key) => [key, String(one[key])])),
                one.version,
              )
          }
        },
      ),
      { numRuns: propertyRuns(25) },
    )
  },
)

// O19
test('a token of a list in another order is refused', async () => {
  const { refunds } = await openSupportStore(opened.store)
  const source = { ...REFUND_LIST, collection: refunds } as unknown as Kind['list'] & {
    readonly collection: Collection<Resource>
  }
  const insert = refunds.insert as unknown as Collection<Resource>['insert']
  for (const id of ['a', 'b'])
    await insert({
      id,
      merchant_id: '7001',
      environment: 'test',
      c_id: id,
      refund_id: id,
      status: 'pending',
      created_at: new Date(0),
      updated_at: new Date(0),
      effects: [],
    })
  const page = (oldest_first: boolean, page_token = '') =>
    listForOperator<Resource>(source, { only: {} }, { page_size: 1, page_token, oldest_first })
  const { next_page_token } = await page(true)
  expect(next_page_token).not.toBe('')
  await expect(page(false, next_page_token)).rejects.toMatchObject({
    code: 9000,
    details: { description: 'page_token' },
  })
})
