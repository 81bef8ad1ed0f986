import { describe, expect, test } from '@jest/globals'
import { HoldResolution } from '#gen/multihub/balances/v1/ledger_service_pb.ts'
import { uuidv7 } from '#lib/base/ids.ts'
import { now } from '#lib/base/time.ts'
import type { Effect } from '#lib/patterns/effects/effect.ts'
import { eventually } from '../../test/support/eventually.ts'
import { type CheckCase, type CrashedFlow, openCrashTests } from './crash-everywhere.fixture.ts'
import type { CrashingProcess, Scenario } from './crashing-process.fixture.ts'
import { type Payment, requireAdmitted } from './domain/payment.ts'
import { newDeposit } from './payment.fixture.ts'
import { keyOfPayment } from './store/payments.ts'
import { debitChargeback, returnChargeback } from './use-cases/debit-chargeback.ts'
import { approveRefund, reserveRefund } from './use-cases/decide-refund.ts'

const tests = openCrashTests()

/** A paid deposit, and the ids of the refund and the chargeback of the test. */
interface Case {
  readonly payment: Payment
  readonly refund_id: string
  readonly chargeback_id: string
}

/** What the callers of a process do. Each call can be repeated, because a caller whose answer was lost repeats it. */
type Calls = (process: CrashingProcess, one: Case) => Promise<unknown>

async function newCase(): Promise<Case> {
  const payment_id = uuidv7()
  const at = now()
  const payment = newDeposit({
    c_id: payment_id,
    payment_id,
    h_id: payment_id,
    ids: [payment_id],
    status: 'success',
    effects: [],
    provider_accounts: ['first'],
    attempt: { number: 1, account_id: 'first', created_at: at },
  })
  await tests.store().payments.insert(payment)
  return { payment, refund_id: uuidv7(), chargeback_id: uuidv7() }
}

const refund: Calls = async ({ deps, findAccount }, { payment, refund_id }) => {
  const { merchant_id, environment, c_id } = payment
  const query = { merchant_id, environment, policy: { service_ids: [], currencies: [] }, c_id }
  await reserveRefund(deps, query, { refund_id, c_id: refund_id, reason: 'late' })
  await approveRefund(
    { ...deps, findAccount, isMoved: async () => false },
    { merchant_id, environment, c_id, refund_id },
  )
}

const chargeback: Calls = async ({ deps }, { payment, chargeback_id }) => {
  const { merchant_id, environment, c_id, payment_id } = payment
  await debitChargeback(deps, payment_id, { chargeback_id, amount: 90n, reason_code: '10.4' })
  await returnChargeback(deps, { merchant_id, environment, c_id, chargeback_id })
}

/** Waits until no effect of the payment is left that `isLater` does not put off, and returns the payment. */
async function waitForEffects({ payment }: Case, isLater: (effect: Effect) => boolean): Promise<Payment> {
  const left = await eventually(
    () => tests.store().payments.get(keyOfPayment(payment)),
    (current) => current?.effects.every(isLater) ?? false,
  )
  if (!left) throw new Error('the payment is gone')
  return requireAdmitted(left)
}

/** A flow whose callers repeat what was not answered. */
function flowOf(calls: Calls): CrashedFlow<Case, Payment> {
  return {
    newCase,
    async run(process, one) {
      await calls(process, one).catch(() => undefined)
      await waitForEffects(one, ({ lease, due_at }) => !lease && due_at > now())
      await process.runner.stop()
    },
    async recover(process, one) {
      await calls(process, one).catch(() => undefined)
      return await waitForEffects(one, ({ kind }) => kind === 'report_open_refund')
    },
  }
}

/** One hold, one end of it, one order at the provider, and one report of each status. */
function checkRefund(state: 'completed' | 'failed', resolution: HoldResolution): CheckCase<Case, Payment> {
  return (left, { holds, resolutions, orders, reports, events }, { refund_id }) => {
    expect(left.refunds).toMatchObject([{ refund_id, state }])
    expect(left.status).toBe(state === 'completed' ? 'refunded' : 'success')
    expect([...holds]).toEqual([[`${refund_id}:hold:1`, 0]])
    expect([...resolutions]).toEqual([[`${refund_id}:hold:1`, resolution]])
    expect([...orders.values()].flatMap((keys) => [...keys])).toEqual([
      `${left.payment_id}:refund:${refund_id}`,
    ])
    expect(Object.fromEntries([...reports].map(([key, statuses]) => [key, [...statuses]]))).toEqual({
      [`${refund_id}:1`]: ['pending'],
      [`${refund_id}:2`]: ['approved'],
      [`${refund_id}:3`]: [state],
    })
    expect(events.size).toBe(state === 'completed' ? 1 : 0)
  }
}

const { CAPTURE, RELEASE } = HoldResolution

// P4, P9, S8, S9
describe.each(['before', 'after'] as const)('a crash %s any step of a refund', (when) => {
  test('that succeeds leads to one order and one capture', async () => {
    const accounts = { first: { at_first: 'success', later: 'success' } } as const
    const check = checkRefund('completed', CAPTURE)
    const steps = await tests.crashEverywhere({ refused_code: 0, accounts }, when, flowOf(refund), check)
    expect(steps).toBeGreaterThan(7)
  })

  test('that is declined leads to one release', async () => {
    const accounts = { first: { at_first: 'declined', later: 'declined' } } as const
    await tests.crashEverywhere(
      { refused_code: 0, accounts },
      when,
      flowOf(refund),
      checkRefund('failed', RELEASE),
    )
  })

  test('whose provider does not answer leads to one order and one capture', async () => {
    const accounts = { first: { at_first: 'silent', later: 'success' } } as const
    await tests.crashEverywhere(
      { refused_code: 0, accounts },
      when,
      flowOf(refund),
      checkRefund('completed', CAPTURE),
    )
  })

  test('that the ledger refuses leaves it pending, without an order', async () => {
    const accounts = { first: { at_first: 'success', later: 'success' } } as const
    await tests.crashEverywhere(
      { refused_code: 6004, accounts },
      when,
      flowOf(refund),
      (left, outside, { refund_id }) => {
        expect(left.refunds).toMatchObject([{ refund_id, state: 'pending', hold_refusal: 6004 }])
        expect([outside.resolutions.size, outside.orders.size]).toEqual([0, 0])
        expect([...outside.reports.keys()]).toEqual([`${refund_id}:1`])
      },
    )
  })
})

// S10
test.each(['before', 'after'] as const)(
  'a crash %s any step of a chargeback leads to one debit and one credit',
  async (when) => {
    const scenario: Scenario = { refused_code: 0, accounts: {} }
    await tests.crashEverywhere(scenario, when, flowOf(chargeback), (left, outside, { chargeback_id }) => {
      expect(left.chargebacks).toMatchObject([{ chargeback_id, amount: 90n, is_won: true }])
      expect(Object.fromEntries(outside.transfers)).toEqual({
        [`${chargeback_id}:debit`]: 90n,
        [`${chargeback_id}:return`]: 90n,
      })
      expect([...outside.reports]).toEqual([[chargeback_id, new Set(['open'])]])
    })
  },
)
