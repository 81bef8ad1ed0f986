import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { testKeys } from '#lib/base/crypto/keys.fixture.ts'
import { now } from '#lib/base/time.ts'
import type { DataCheck } from '#lib/role/operations.ts'
import type { Claim } from '#lib/role/requirement.ts'
import type { CollectionSpec } from '#lib/store/store.ts'
import { openTestStore, type TestStore } from '../../test/support/store.ts'
import { newChargeback, withStatus } from './chargebacks/domain/chargeback.ts'
import { CHARGEBACKS } from './chargebacks/store/chargebacks.ts'
import { operations } from './operations.ts'
import { applyRefundChange, newRefund } from './refunds/domain/refund.ts'
import { REFUNDS } from './refunds/store/refunds.ts'
import { openSupportStore } from './store/support-store.ts'

const at = now()
const MERCHANT = { merchant_id: '7001', environment: 'production' } as const
const PAYMENT = { payment_id: 'p', c_id: 'c', h_id: 'h' }
const MONEY = { amount: 400n, currency: 'INR' }

const REFUND = { ...MERCHANT, ...MONEY, refund_id: 'r', c_id: 'r', payment: PAYMENT }
const PENDING = newRefund({ refund: REFUND, number: 1, status: 'pending', reason: '', at })
const APPROVED = applyRefundChange(PENDING, { refund: REFUND, number: 2, status: 'approved', reason: '', at })
const OPEN = newChargeback({
  ...MERCHANT,
  ...MONEY,
  chargeback_id: 'b',
  payment: PAYMENT,
  reason_code: '1',
  created_at: at,
})
const WON = withStatus({ ...OPEN, effects: [] }, { status: 'won', at, note: '' })

let opened: TestStore
beforeAll(async () => {
  opened = await openTestStore()
  const { refunds, chargebacks } = await openSupportStore(opened.store)
  await refunds.insert(APPROVED)
  await refunds.insert({ ...PENDING, refund_id: 'pending', c_id: 'pending' })
  await chargebacks.insert(OPEN)
})
afterAll(async () => {
  await opened[Symbol.asyncDispose]()
})

/** The check of a backup that has these documents. */
async function checkOf(documents: ReadonlyMap<string, readonly object[]>): Promise<DataCheck> {
  const readDocuments = async function* ({ name }: CollectionSpec) {
    yield* documents.get(name) ?? []
  }
  const check = await operations.checkData?.(opened.store, readDocuments as never, {}, testKeys())
  if (check === undefined) throw new TypeError('support has no check')
  return check
}

async function claimsOf(documents: ReadonlyMap<string, readonly object[]>) {
  const found = []
  for await (const { role, id, claim } of (await checkOf(documents)).listRequirements?.() ?? [])
    found.push({ role, id, claim })
  return found
}

// P18
test('the payment of each refund and chargeback must know it, with its amount and status', async () => {
  const refund = { kind: 'refund', refund_id: 'r', ...MONEY } as const
  const chargeback = { kind: 'chargeback', chargeback_id: 'b', ...MONEY } as const
  const of_payment = { role: 'payments', id: 'p' }
  const all = new Map<string, readonly object[]>([
    [REFUNDS.name, [PENDING, APPROVED]],
    [CHARGEBACKS.name, [OPEN, WON, { ...WON, effects: [] }]],
  ])
  expect(await claimsOf(all)).toEqual([
    { ...of_payment, claim: { ...refund, status: 'pending' } },
    { ...of_payment, claim: { ...refund, status: 'approved' } },
    { ...of_payment, claim: { ...chargeback, is_won: false } },
    // Its payment does not know yet that it is won.
    { ...of_payment, claim: { ...chargeback, is_won: false } },
    { ...of_payment, claim: { ...chargeback, is_won: true } },
  ])
})

test('support agrees with a payment that states the same amount, and no later status', async () => {
  const { find } = await checkOf(new Map())
  const findingOf = (claim: Claim, id = claim.kind === 'refund' ? 'r' : 'b') =>
    find?.({ ...MERCHANT, role: 'support', id, at, subject: '', claim })
  const refund = { kind: 'refund', refund_id: 'r', ...MONEY } as const
  for (const status of ['pending', 'approved'] as const)
    expect(await findingOf({ ...refund, status })).toBe('found')
  for (const status of ['completed', 'failed', 'rejected', 'canceled'] as const)
    expect(await findingOf({ ...refund, status })).toBe('different')
  expect(await findingOf({ ...refund, status: 'approved' }, 'pending')).toBe('different')
  expect(await findingOf({ ...refund, status: 'pending', amount: 399n })).toBe('different')
  expect(await findingOf({ ...refund, status: 'pending' }, 'none')).toBe('missing')
  const chargeback = { kind: 'chargeback', chargeback_id: 'b', ...MONEY, is_won: false } as const
  expect(await findingOf(chargeback)).toBe('found')
  expect(await findingOf({ ...chargeback, is_won: true })).toBe('different')
  expect(await findingOf({ ...chargeback, amount: 401n })).toBe('different')
})

test('a restore wins a chargeback that the ledger has credited back, once, and never one that was lost', async () => {
  const { chargebacks } = await openSupportStore(opened.store)
  const lost = { ...OPEN, chargeback_id: 'lost', effects: [] }
  await chargebacks.insert(withStatus(lost, { status: 'lost', at, note: '' }))
  const { adopt } = await checkOf(new Map())
  const adoptWon = (id: string, is_won = true) =>
    adopt?.({
      ...MERCHANT,
      role: 'support',
      id,
      at,
      subject: '',
      claim: { kind: 'chargeback', chargeback_id: id, ...MONEY, is_won },
    })
  expect(await adoptWon('b', false)).toBe(false)
  expect(await adoptWon('b')).toBe(true)
  const won = await chargebacks.get({ ...MERCHANT, chargeback_id: 'b' })
  expect(won).toMatchObject({ status: 'won', history: [{ status: 'open' }, { status: 'won' }] })
  expect(await adoptWon('lost')).toBe(false)
  expect(await adoptWon('none')).toBe(false)
})
