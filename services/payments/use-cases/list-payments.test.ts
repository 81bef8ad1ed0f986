import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { uuidv7 } from '#lib/base/ids.ts'
import { admitWithdrawal, refuseWithdrawal } from '../domain/hold-decision.ts'
import { type Payment, requireAdmitted } from '../domain/payment.ts'
import { newDeposit, newReservation } from '../payment.fixture.ts'
import { openPayments, type PaymentsFixture } from '../payments-store.fixture.ts'
import { listPayments, type PaymentFilter } from './list-payments.ts'

const START = Date.UTC(2026, 10, 21)
const PAYMENTS = 260
const filter: PaymentFilter = { merchant_id: '7003', environment: 'test', statuses: [] }

let fixture: PaymentsFixture
beforeAll(async () => {
  fixture = await openPayments()
  const numbers = Array.from({ length: PAYMENTS }, (_, number) => number)
  await Promise.all(
    numbers.map((number) =>
      insert(`many-${number}`, Math.floor(number / 2), {
        status: number % 65 === 0 ? 'declined' : 'success',
      }),
    ),
  )
  await insert('elsewhere', 3, { environment: 'production' })
})
afterAll(async () => {
  await fixture[Symbol.asyncDispose]()
})

/** Inserts a payment that was created `minute` minutes after the start. */
async function insert(c_id: string, minute: number, changes: Partial<Payment>): Promise<Payment> {
  const payment_id = uuidv7()
  const created_at = new Date(START + minute * 60_000)
  const deposit = newDeposit({ c_id, payment_id, h_id: payment_id, created_at, effects: [] })
  const stored = await fixture.store.payments.insert({ ...deposit, merchant_id: '7003', ...changes })
  return requireAdmitted(stored)
}

const minuteOf = ({ created_at }: Payment): number => (created_at.getTime() - START) / 60_000

async function readPages(changes: Partial<PaymentFilter>, size: number): Promise<Payment[][]> {
  const all: Payment[][] = []
  let token = ''
  do {
    const page = await listPayments(
      fixture.store,
      { ...filter, ...changes },
      { page_size: size, page_token: token },
    )
    all.push([...page.items])
    token = page.next_page_token
  } while (token !== '')
  return all
}

test.each([1, 7, 100])('lists every payment once, newest first, by pages of %d', async (size) => {
  const limited = { created_from: new Date(START + 90 * 60_000) }
  const all = await readPages(size === 1 ? limited : {}, size)
  const payments = all.flat()
  expect(new Set(payments.map(({ c_id }) => c_id)).size).toBe(payments.length)
  expect(payments).toHaveLength(size === 1 ? 80 : PAYMENTS)
  expect(payments.map(minuteOf)).toEqual(payments.map(minuteOf).sort((a, b) => b - a))
  expect(all.slice(0, -1).every((page) => page.length === size)).toBe(true)
})

test('filters by status', async () => {
  const declined = (await readPages({ statuses: ['declined'] }, 3)).flat()
  expect(declined.map(({ c_id }) => c_id)).toEqual(['many-195', 'many-130', 'many-65', 'many-0'])
})

test('filters by creation time, with an inclusive lower and an exclusive upper bound', async () => {
  const range = { created_from: new Date(START + 60_000), created_to: new Date(START + 3 * 60_000) }
  expect((await readPages(range, 100)).flat().map(minuteOf)).toEqual([2, 2, 1, 1])
  const reversed = { created_from: range.created_to, created_to: range.created_from }
  expect((await readPages(reversed, 100)).flat()).toEqual([])
})

test('refuses the token of another list, an invalid token and a page size above 100 with 9000', async () => {
  const { next_page_token } = await listPayments(fixture.store, filter, { page_size: 1, page_token: '' })
  const other = { ...filter, merchant_id: '7001' }
  await expect(
    listPayments(fixture.store, other, { page_size: 1, page_token: next_page_token }),
  ).rejects.toMatchObject({ code: 9000 })
  await expect(
    listPayments(fixture.store, filter, { page_size: 1, page_token: 'garbage' }),
  ).rejects.toMatchObject({ code: 9000 })
  await expect(
    listPayments(fixture.store, filter, { page_size: 1_001, page_token: '' }),
  ).rejects.toMatchObject({
    code: 9000,
  })
})

// P3
test('has no withdrawal that the ledger has not admitted, with and without a filter', async () => {
  const merchant_id = '7004'
  const named = (c_id: string) => {
    const payment_id = uuidv7()
    return newReservation({ merchant_id, c_id, payment_id, h_id: payment_id })
  }
  const { payments } = fixture.store
  const at = new Date(START)
  await payments.insert(named('reserving'))
  await payments.insert(refuseWithdrawal({ ...named('refused'), effects: [] }, 6004, at))
  await payments.insert(admitWithdrawal({ ...named('admitted'), effects: [] }, at))
  for (const statuses of [[], ['created']] as const) {
    const list = await listPayments(
      fixture.store,
      { merchant_id, statuses },
      { page_size: 100, page_token: '' },
    )
    expect(list.items.map(({ c_id }) => c_id)).toEqual(['admitted'])
  }
})
