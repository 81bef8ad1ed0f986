import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { sha256Hex } from '#lib/platform/crypto/hash.ts'
import { isUuid, uuidv7 } from '#lib/platform/ids.ts'
import type { Payment } from '../domain/payment.ts'
import { newDeposit } from '../payment.fixture.ts'
import { openPayments, type PaymentsFixture } from '../payments.fixture.ts'
import { getPayment, listAnomalies, listPayments, lookUpPayment, type PaymentFilter } from './look-up.ts'
import { listStuckEffects } from './stuck-effects.ts'

const OWNER = {
  merchant_id: '7001',
  environment: 'test',
  policy: { service_ids: [], currencies: [] },
} as const
const NUMERIC = '118432100000420001'
const START = Date.UTC(2026, 10, 21)

let fixture: PaymentsFixture
let one: Payment
let numeric: Payment

/** A payment of its own; `minute` says when it was created. */
async function keep(c_id: string, minute: number, changes: Partial<Payment> = {}): Promise<Payment> {
  const payment_id = uuidv7()
  const created_at = new Date(START + minute * 60_000)
  const ids = [payment_id]
  const base = newDeposit({ c_id, payment_id, h_id: payment_id, ids, created_at, effects: [] })
  return fixture.store.payments.insert({ ...base, ...changes })
}

beforeAll(async () => {
  fixture = await openPayments()
  one = await keep('one', 0)
  numeric = await keep('numeric', 1, { h_id: NUMERIC, ids: [uuidv7(), NUMERIC] })
})
afterAll(async () => {
  await fixture[Symbol.asyncDispose]()
})

describe('a look-up', () => {
  const find = (asked: object) => lookUpPayment(fixture.store.payments, { ...OWNER, ...asked })

  test('finds a payment by either identifier, or by both', async () => {
    expect(await find({ c_id: 'one' })).toEqual(one)
    expect(await find({ h_id: one.h_id })).toEqual(one)
    expect(await find({ c_id: 'one', h_id: one.h_id })).toEqual(one)
    expect(await find({ h_id: NUMERIC })).toEqual(numeric)
  })

  test.each<[string, object]>([
    ['another c_id', { c_id: 'two' }],
    ['a c_id that differs in its case', { c_id: 'One' }],
    ['another h_id', { h_id: uuidv7() }],
    ['an empty h_id', { h_id: '' }],
    ['identifiers of two payments', { c_id: 'one', h_id: NUMERIC }],
    ['another merchant', { c_id: 'one', merchant_id: '7002' }],
    ['another environment', { c_id: 'one', environment: 'production' }],
  ])('finds nothing by %s: 6010', async (_what, asked) => {
    await expect(find(asked)).rejects.toMatchObject({ code: 6010 })
  })

  test('needs an identifier: 1005', async () => {
    await expect(find({})).rejects.toMatchObject({
      code: 1005,
      details: { description: 'params.payment.identifiers' },
    })
  })

  test.each<[string, object]>([
    ['routes', { service_ids: ['502'], currencies: [] }],
    ['currencies', { service_ids: [], currencies: ['TRY'] }],
  ])('is judged by the stored payment for a credential of certain %s: 3008', async (_what, policy) => {
    await expect(find({ c_id: 'one', policy })).rejects.toMatchObject({ code: 3008 })
    await expect(find({ c_id: 'two', policy })).rejects.toMatchObject({ code: 6010 })
  })

  test('of the operator needs no merchant, and takes both kinds of id', async () => {
    const { payments } = fixture.store
    for (const id of numeric.ids) expect(await getPayment(payments, id)).toEqual(numeric)
    expect(numeric.ids.filter(isUuid)).toHaveLength(1)
    await expect(getPayment(payments, 'nothing')).rejects.toMatchObject({ code: 6010 })
  })
})

describe('a list of payments', () => {
  const MANY = 260
  const filter: PaymentFilter = { merchant_id: '7003', environment: 'test', states: [] }
  const minuteOf = ({ created_at }: Payment): number => (created_at.getTime() - START) / 60_000

  beforeAll(async () => {
    const keepOne = (number: number) =>
      keep(`many-${number}`, Math.floor(number / 2), {
        merchant_id: '7003',
        state: number % 65 === 0 ? 'declined' : 'success',
      })
    await Promise.all(Array.from({ length: MANY }, (_, number) => keepOne(number)))
    await keep('elsewhere', 3, { merchant_id: '7003', environment: 'production' })
  })

  async function pages(asked: Partial<PaymentFilter>, size: number): Promise<Payment[][]> {
    const all: Payment[][] = []
    let token = ''
    do {
      const page = await listPayments(fixture.store.payments, { ...filter, ...asked }, size, token)
      all.push([...page.payments])
      token = page.next_page_token
    } while (token !== '')
    return all
  }

  test.each([1, 7, 100])('has every payment once, newest first, by pages of %d', async (size) => {
    const limited = { created_from: new Date(START + 90 * 60_000) }
    const all = await pages(size === 1 ? limited : {}, size)
    const found = all.flat()
    expect(new Set(found.map(({ c_id }) => c_id)).size).toBe(found.length)
    expect(found).toHaveLength(size === 1 ? 80 : MANY)
    expect(found.map(minuteOf)).toEqual(found.map(minuteOf).sort((a, b) => b - a))
    expect(all.slice(0, -1).every((page) => page.length === size)).toBe(true)
  })

  test('can be of certain states and of a stretch of time, its beginning included and its end not', async () => {
    const declined = (await pages({ states: ['declined'] }, 3)).flat()
    expect(declined.map(({ c_id }) => c_id)).toEqual(['many-195', 'many-130', 'many-65', 'many-0'])
    const stretch = { created_from: new Date(START + 60_000), created_to: new Date(START + 3 * 60_000) }
    expect((await pages(stretch, 100)).flat().map(minuteOf)).toEqual([2, 2, 1, 1])
    const reversed = { created_from: stretch.created_to, created_to: stretch.created_from }
    expect((await pages(reversed, 100)).flat()).toEqual([])
  })

  test('takes no token of another list, no other text, and no page size beyond 100', async () => {
    const { payments } = fixture.store
    const { next_page_token } = await listPayments(payments, filter, 1, '')
    const other = { ...filter, merchant_id: '7001' }
    await expect(listPayments(payments, other, 1, next_page_token)).rejects.toMatchObject({ code: 9000 })
    await expect(listPayments(payments, filter, 1, 'garbage')).rejects.toMatchObject({ code: 9000 })
    await expect(listPayments(payments, filter, 101, '')).rejects.toMatchObject({ code: 9000 })
  })
})

test('anomalies are listed of all merchants, newest first, each once', async () => {
  const { anomalies } = fixture.store
  for (let number = 0; number < 30; number++) {
    const { payment_id, environment } = one
    await anomalies.insert({
      merchant_id: `70${number % 3}`,
      anomaly_id: sha256Hex(`${number}`),
      environment,
      payment_id,
      kind: 'amount_differs',
      description: `${number}`,
      created_at: new Date(START + Math.floor(number / 4)),
    })
  }
  const found: string[] = []
  let token = ''
  do {
    const page = await listAnomalies(anomalies, 10, token)
    found.push(...page.anomalies.map(({ description }) => description))
    token = page.next_page_token
  } while (token !== '')
  expect(new Set(found).size).toBe(30)
  expect(found.slice(0, 2).sort()).toEqual(['28', '29'])
})

test('stuck effects are listed by pages of payments, the longest stuck first', async () => {
  const { payments } = fixture.store
  for (let number = 0; number < 5; number++) {
    const at = new Date(START + number)
    const effect = {
      id: `${number}`,
      kind: 'ledger_credit',
      lane: 'money',
      data: {},
      tries: 3,
      due_at: at,
      stuck: true,
    }
    await keep(`stuck-${number}`, 5 - number, { effects: [{ ...effect, lane: 'money' }], stuck_at: at })
  }
  const found: string[] = []
  let token = ''
  do {
    const page = await listStuckEffects(payments, 2, token)
    found.push(...page.stuck.map(({ effect }) => effect.id))
    token = page.next_page_token
  } while (token !== '')
  expect(found).toEqual(['0', '1', '2', '3', '4'])
})
