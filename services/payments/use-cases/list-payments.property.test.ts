import { expect, test } from '@jest/globals'
import fc from 'fast-check'
import type { Environment } from '#lib/contract/environment.ts'
import type { Collection } from '#lib/store/store.ts'
import { propertyRuns } from '../../../test/support/property-runs.ts'
import { newKnownAccount } from '../domain/account-identity.ts'
import type { Payment, StoredPayment } from '../domain/payment.ts'
import { newDeposit, STATUSES } from '../payment.fixture.ts'
import { openPayments } from '../payments-store.fixture.ts'
import { listPayments, type PaymentFilter } from './list-payments.ts'

const START_MS = Date.UTC(2026, 10, 21)
const ENVIRONMENTS = ['test', 'production'] as const
const ACCOUNTS = ['first', 'second']
const timeOf = (at: number): Date => new Date(START_MS + at)

/** The ranges of a list without a filter: one per account, environment and status. */
const RANGES_MAX = ACCOUNTS.length * ENVIRONMENTS.length * STATUSES.length

/** A few values of each field, so that many payments share a millisecond, a reference or a route. */
const payment = fc.record({
  merchant: fc.nat(2),
  environment: fc.constantFrom(...ENVIRONMENTS),
  c_id: fc.constantFrom(
    ...Array.from({ length: 12 }, (_, number) => `order-${number}`),
    '\u{1F600}',
    '\uFF21',
  ),
  at: fc.nat(6),
  status: fc.constantFrom(...STATUSES),
  account: fc.constantFrom(...ACCOUNTS),
})
type Drawn = typeof payment extends fc.Arbitrary<infer T> ? T : never

/** A route has one merchant and one environment. */
const routeOf = (merchant: number, environment: Environment): string =>
  `${500 + 2 * merchant + ENVIRONMENTS.indexOf(environment)}`

const maybe = <T>(arbitrary: fc.Arbitrary<T>) => fc.option(arbitrary, { nil: undefined })
const filter = fc
  .record({
    scope: fc.oneof(
      fc.record({
        merchant_id: maybe(fc.nat(3).map((number) => `700${number}`)),
        service_id: maybe(fc.nat(7).map((number) => `${500 + number}`)),
      }),
      fc.record({ account_id: fc.constantFrom(...ACCOUNTS, 'third') }),
    ),
    environment: maybe(fc.constantFrom(...ENVIRONMENTS)),
    statuses: fc.oneof(fc.constant([]), fc.array(fc.constantFrom(...STATUSES), { maxLength: 3 })),
    from: maybe(fc.nat(7)),
    to: maybe(fc.nat(7)),
  })
  .map(
    ({ scope, environment, statuses, from, to }): PaymentFilter => ({
      ...scope,
      environment,
      statuses,
      ...(from !== undefined && { created_from: timeOf(from) }),
      ...(to !== undefined && { created_to: timeOf(to) }),
    }),
  )

function paymentOf({ merchant, environment, c_id, at, status, account }: Drawn): Payment {
  const payment_id = `${merchant}-${environment}-${c_id}`
  const created_at = timeOf(at)
  return newDeposit({
    merchant_id: `700${merchant}`,
    environment,
    c_id,
    payment_id,
    h_id: payment_id,
    ids: [payment_id],
    service_id: routeOf(merchant, environment),
    attempt: { number: 1, account_id: account, created_at },
    created_at,
    status,
  })
}

/** What the list must be: read and filtered one by one. */
function expected(stored: readonly Payment[], wanted: PaymentFilter): string[] {
  const { merchant_id, environment, service_id, account_id, statuses, created_from, created_to } = wanted
  const bytes = (one: string, other: string): number => Buffer.compare(Buffer.from(other), Buffer.from(one))
  return stored
    .filter((one) => merchant_id === undefined || one.merchant_id === merchant_id)
    .filter((one) => environment === undefined || one.environment === environment)
    .filter((one) => service_id === undefined || one.service_id === service_id)
    .filter((one) => account_id === undefined || one.attempt.account_id === account_id)
    .filter((one) => statuses.length === 0 || statuses.includes(one.status))
    .filter((one) => created_from === undefined || one.created_at >= created_from)
    .filter((one) => created_to === undefined || one.created_at < created_to)
    .sort(
      (a, b) =>
        b.created_at.getTime() - a.created_at.getTime() ||
        bytes(a.merchant_id, b.merchant_id) ||
        bytes(a.c_id, b.c_id) ||
        bytes(a.environment, b.environment),
    )
    .map(({ payment_id }) => payment_id)
}

/** The payments, with the number of documents that were read. */
function counted(payments: Collection<StoredPayment>) {
  const reads = { documents: 0, ranges: 0 }
  const find: typeof payments.find = async (...call) => {
    const found = await payments.find(...call)
    reads.documents += found.length
    reads.ranges += 1
    return found
  }
  return { reads, payments: { ...payments, find } }
}

// O8
test('every filter lists what it must, in order, with bounded reads and no empty page before the last', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.uniqueArray(payment, {
        maxLength: 60,
        size: 'max',
        selector: ({ merchant, environment, c_id }) => `${merchant} ${environment} ${c_id}`,
      }),
      fc.array(fc.record({ filter, size: fc.constantFrom(1, 2, 5, 100) }), { minLength: 8, maxLength: 8 }),
      async (drawn, lists) => {
        await using fixture = await openPayments()
        const stored = drawn.map(paymentOf)
        const known = ACCOUNTS.map((account_id) => newKnownAccount({ account_id, fingerprint: '' }))
        await Promise.all(known.map((one) => fixture.store.known_accounts.insert(one)))
        await Promise.all(stored.map((one) => fixture.store.payments.insert(one)))
        const { payments, reads } = counted(fixture.store.payments)
        for (const { filter: wanted, size } of lists) {
          const listed: string[] = []
          let page_token = ''
          do {
            Object.assign(reads, { documents: 0, ranges: 0 })
            const page = await listPayments({ ...fixture.store, payments }, wanted, {
              page_size: size,
              page_token,
            })
            expect(page.next_page_token === '' || page.items.length === size).toBe(true)
            const is_one_range = reads.ranges === 1
            expect(reads.documents).toBeLessThanOrEqual(
              is_one_range ? size + 1 : 2 * (size + 1) + 2 * RANGES_MAX,
            )
            listed.push(...page.items.map(({ payment_id }) => payment_id))
            page_token = page.next_page_token
          } while (page_token !== '')
          expect(listed).toEqual(expected(stored, wanted))
        }
      },
    ),
    { numRuns: propertyRuns(100) },
  )
})
