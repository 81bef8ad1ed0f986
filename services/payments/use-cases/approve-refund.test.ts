import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { uuidv7 } from '#lib/base/ids.ts'
import { now } from '#lib/base/time.ts'
import type { Connector } from '../connectors/connector.ts'
import type { FindAccount } from '../connectors/find-account.ts'
import { type Payment, requireAdmitted } from '../domain/payment.ts'
import { requireRefund } from '../domain/refund.ts'
import {
  applyRefundHold,
  beginApproval,
  decideClosing,
  decideReservation,
} from '../domain/refund-transitions.ts'
import { bindHoldFunds } from '../effects/post-to-ledger.ts'
import { scriptedConnector } from '../effects/scripted-connector.fixture.ts'
import { scriptedLedger } from '../effects/scripted-ledger.fixture.ts'
import { newDeposit } from '../payment.fixture.ts'
import { openPayments, type PaymentsFixture } from '../payments-store.fixture.ts'
import { keyOfPayment } from '../store/payments.ts'
import { approveRefund, closeRefund } from './decide-refund.ts'

let fixture: PaymentsFixture
beforeAll(async () => {
  fixture = await openPayments()
})
afterAll(async () => {
  await fixture[Symbol.asyncDispose]()
})

const REFUND = { refund_id: 'r', c_id: 'r', amount: 400n, reason: '' }

/** A paid deposit with a pending refund, after `change`. Nothing of it is due in this process. */
async function withRefund(change: (payment: Payment) => Payment = (payment) => payment) {
  const payment_id = uuidv7()
  const deposit = newDeposit({
    payment_id,
    c_id: payment_id,
    h_id: payment_id,
    ids: [payment_id],
    effects: [],
  })
  const { payment } = decideReservation({ ...deposit, status: 'success' }, REFUND, now())
  return requireAdmitted(await fixture.store.payments.insert({ ...change(payment), effects: [] }))
}

const queryOf = ({ merchant_id, environment, c_id }: Payment) => ({
  merchant_id,
  environment,
  c_id,
  refund_id: REFUND.refund_id,
})

const refundOf = async (payment: Payment) => {
  const found = await fixture.store.payments.get(keyOfPayment(payment))
  return found && requireRefund(requireAdmitted(found), REFUND.refund_id)
}

/** Finds every account, with a connector that can do these operations. */
function accountsFor(...operations: Connector['operations']): FindAccount {
  const { accountOf } = scriptedConnector(() => ({ kind: 'not_sent', reason: 'nothing is sent' }), {
    operations,
  }).deps()
  return (account_id) => accountOf(newDeposit({ attempt: { number: 1, account_id, created_at: now() } }))
}

/** No limit of a route counts a refund, so its hold needs no route. */
const findRoute = async () => undefined

/** What decisions need, with a ledger that admits every hold. */
function decisions(findAccount: FindAccount = accountsFor('deposit', 'withdrawal', 'refund')) {
  const ledger = scriptedLedger()
  const isMoved = async (): Promise<boolean> => false
  return {
    ledger,
    findAccount,
    isMoved,
    ...fixture.deps([bindHoldFunds({ ledger: ledger.client, findRoute })]),
  }
}

// S9
describe('an approval', () => {
  // P4
  test('is 8801 while the account of the deposit has moved, names it, and holds no funds', async () => {
    const payment = await withRefund()
    const deps = decisions()
    const moved = { ...deps, isMoved: async () => true }
    const description = expect.stringContaining(payment.attempt.account_id)
    await expect(approveRefund(moved, queryOf(payment))).rejects.toMatchObject({
      code: 8801,
      details: { description, reason: expect.stringContaining('ConfirmAccountMoved') },
    })
    expect(deps.ledger.holds).toEqual([])
    expect(await refundOf(payment)).toMatchObject({ state: 'pending' })
    await approveRefund(deps, queryOf(payment))
    const repeated = await approveRefund(moved, queryOf(payment))
    expect(repeated.change).toMatchObject({ number: 2, status: 'approved' })
  })

  // P19
  test('is 8801 while only the ledger knows that the restored deposit was paid, and holds no funds', async () => {
    const payment = await withRefund((pending) => ({ ...pending, restored: 'booked' }))
    const deps = decisions()
    await expect(approveRefund(deps, queryOf(payment))).rejects.toMatchObject({ code: 8801 })
    expect(deps.ledger.holds).toEqual([])
    expect(await refundOf(payment)).toMatchObject({ state: 'pending' })
  })

  test.each([
    ['is not configured any more', () => undefined],
    ['cannot refund', accountsFor('deposit', 'withdrawal')],
  ])('is 1009 when the account of the deposit %s, and holds no funds', async (_name, findAccount) => {
    const payment = await withRefund()
    const deps = decisions(findAccount)
    await expect(approveRefund(deps, queryOf(payment))).rejects.toMatchObject({ code: 1009 })
    expect(deps.ledger.holds).toEqual([])
    expect(await refundOf(payment)).toMatchObject({ state: 'pending' })
    // It can be approved when the account is back, and its repetition needs the account no more.
    await approveRefund(decisions(), queryOf(payment))
    const repeated = await approveRefund(deps, queryOf(payment))
    expect(repeated.change).toMatchObject({ number: 2, status: 'approved' })
  })

  test('is 11001 for a refund that its payment does not have, and without the payment', async () => {
    const query = queryOf(await withRefund())
    for (const unknown of [{ refund_id: 'other' }, { c_id: 'other' }])
      await expect(approveRefund(decisions(), { ...query, ...unknown })).rejects.toMatchObject({
        code: 11001,
      })
  })

  test('is 8801 for a refund that was rejected, and holds no funds', async () => {
    const closing = { refund_id: REFUND.refund_id, status: 'rejected', reason: 'no' } as const
    const payment = await withRefund((pending) => decideClosing(pending, closing, now()).payment)
    const deps = decisions()
    await expect(approveRefund(deps, queryOf(payment))).rejects.toMatchObject({ code: 8801 })
    expect(deps.ledger.holds).toEqual([])
    expect(await refundOf(payment)).toMatchObject({ state: 'rejected' })
  })

  test('has the code with which the ledger refuses the hold, and can be repeated under another hold', async () => {
    const payment = await withRefund()
    const { client } = scriptedLedger(() => 6004)
    const refusing = { ...decisions(), ...fixture.deps([bindHoldFunds({ ledger: client, findRoute })]) }
    await expect(approveRefund(refusing, queryOf(payment))).rejects.toMatchObject({ code: 6004 })
    expect(await refundOf(payment)).toMatchObject({ state: 'pending', hold_refusal: 6004 })
    const deps = decisions()
    await approveRefund(deps, queryOf(payment))
    expect(deps.ledger.holds).toMatchObject([{ holdId: `${REFUND.refund_id}:hold:2` }])
  })
})

// S7
test('the closing of an approved refund is 8801 and changes nothing', async () => {
  const payment = await withRefund()
  const deps = decisions()
  await approveRefund(deps, queryOf(payment))
  const closing = { refund_id: REFUND.refund_id, status: 'canceled', reason: '' } as const
  await expect(closeRefund(deps, queryOf(payment), closing)).rejects.toMatchObject({ code: 8801 })
  expect(await refundOf(payment)).toMatchObject({ state: 'approved' })
})

// S7, S9
test('the closing of a refund waits for the hold of its approval, and closes it when the ledger refuses', async () => {
  const approving = await withRefund((payment) => beginApproval(payment, REFUND.refund_id, now()).payment)
  const { ledger, ...deps } = decisions()
  const read_again = Promise.withResolvers<void>()
  let reads = 0
  const payments: typeof deps.payments = {
    ...deps.payments,
    get(...call) {
      reads += 1
      if (reads > 1) read_again.resolve()
      return deps.payments.get(...call)
    },
  }
  const closing = closeRefund({ ...deps, payments }, queryOf(approving), {
    refund_id: REFUND.refund_id,
    status: 'rejected',
    reason: 'no',
  })
  await Promise.race([closing, read_again.promise])
  // The process that has asked the ledger stores its decision.
  const { version, ...payment } = approving
  const decision = {
    refund_id: REFUND.refund_id,
    hold_id: `${REFUND.refund_id}:hold:1`,
    refused_code: 6004,
  } as const
  await deps.payments.replace(applyRefundHold(payment, decision, now()), version)
  expect((await closing).change).toMatchObject({ number: 2, status: 'rejected' })
  expect(await refundOf(approving)).toMatchObject({ state: 'rejected' })
  expect(ledger.holds).toEqual([])
})
