import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { isUuid, uuidv7 } from '#lib/base/ids.ts'
import type { Stored } from '#lib/store/store.ts'
import { type Payment, requireAdmitted } from '../domain/payment.ts'
import { newDeposit } from '../payment.fixture.ts'
import { behindFormerPrimary, openPayments, type PaymentsFixture } from '../payments-store.fixture.ts'
import { findPayment, getPayment } from './find-payment.ts'

const OWNER = {
  merchant_id: '7001',
  environment: 'test',
  policy: { service_ids: [], currencies: [] },
} as const
const NUMERIC = '118432100000420001'

let fixture: PaymentsFixture
let plain: Stored<Payment>
let numeric: Payment

async function insert(c_id: string, changes: Partial<Payment> = {}): Promise<Stored<Payment>> {
  const payment_id = uuidv7()
  const ids = [payment_id]
  const deposit = newDeposit({ c_id, payment_id, h_id: payment_id, ids, effects: [] })
  return requireAdmitted(await fixture.store.payments.insert({ ...deposit, ...changes }))
}

beforeAll(async () => {
  fixture = await openPayments()
  plain = await insert('one', { status: 'success' })
  numeric = await insert('numeric', { h_id: NUMERIC, ids: [uuidv7(), NUMERIC] })
})
afterAll(async () => {
  await fixture[Symbol.asyncDispose]()
})

describe('a lookup by a merchant', () => {
  const find = (request: object) => findPayment(fixture.deps(), { ...OWNER, ...request })

  // P16
  test('finds a payment by either identifier or by both', async () => {
    expect(await find({ c_id: 'one' })).toEqual(plain)
    expect(await find({ h_id: plain.h_id })).toEqual(plain)
    expect(await find({ c_id: 'one', h_id: plain.h_id })).toEqual(plain)
    expect(await find({ h_id: NUMERIC })).toEqual(numeric)
  })

  test.each<[string, object]>([
    ['another c_id', { c_id: 'two' }],
    ['a c_id in another case', { c_id: 'One' }],
    ['another h_id', { h_id: uuidv7() }],
    ['an empty h_id', { h_id: '' }],
    ['identifiers of two payments', { c_id: 'one', h_id: NUMERIC }],
    ['another merchant', { c_id: 'one', merchant_id: '7002' }],
    ['another environment', { c_id: 'one', environment: 'production' }],
  ])('refuses %s with 6010', async (_what, request) => {
    await expect(find(request)).rejects.toMatchObject({ code: 6010 })
  })

  // P2
  test.each<[string, string, Payment['status'] | undefined]>([
    ['c_id', 'does not know it', undefined],
    ['h_id', 'does not know it', undefined],
    ['c_id', 'has an earlier status', 'created'],
    ['h_id', 'has an earlier status', 'created'],
  ])(
    'finds a payment by its %s as it is also while a former primary %s',
    async (name, _what, outdated_status) => {
      const { payments } = fixture.store
      const outdated = outdated_status && { ...plain, status: outdated_status }
      const behind = behindFormerPrimary(payments, outdated)
      const named = { [name]: name === 'c_id' ? plain.c_id : plain.h_id }
      expect(await findPayment({ ...fixture.deps(), payments: behind }, { ...OWNER, ...named })).toEqual(
        plain,
      )
      await expect(
        findPayment({ ...fixture.deps(), payments: behind }, { ...OWNER, [name]: 'unknown' }),
      ).rejects.toMatchObject({
        code: 6010,
      })
    },
  )

  test('refuses a request without an identifier with 1005', async () => {
    await expect(find({})).rejects.toMatchObject({
      code: 1005,
      details: { description: 'params.payment.identifiers' },
    })
  })

  test.each<[string, object]>([
    ['routes', { service_ids: ['502'], currencies: [] }],
    ['currencies', { service_ids: [], currencies: ['TRY'] }],
  ])('refuses an existing payment with 3008 when the policy allows other %s', async (_what, policy) => {
    await expect(find({ c_id: 'one', policy })).rejects.toMatchObject({ code: 3008 })
    await expect(find({ c_id: 'two', policy })).rejects.toMatchObject({ code: 6010 })
  })
})

test('the operator finds a payment of any merchant by either id', async () => {
  const deps = fixture.deps()
  expect([numeric.payment_id, numeric.h_id].filter(isUuid)).toHaveLength(1)
  for (const id of [numeric.payment_id, numeric.h_id]) expect(await getPayment(deps, id)).toEqual(numeric)
  for (const id of ['unknown', `c:${numeric.c_id}`])
    await expect(getPayment(deps, id)).rejects.toMatchObject({ code: 6010 })
})
