import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { withRequest } from '#lib/base/context.ts'
import { uuidv7 } from '#lib/base/ids.ts'
import { clock, now } from '#lib/base/time.ts'
import { Unavailable } from '#lib/contract/errors/unavailable.ts'
import type { Stored } from '#lib/store/store.ts'
import { eventually } from '../../../test/support/eventually.ts'
import type { CallResult } from '../domain/call-result.ts'
import { admitWithdrawal } from '../domain/hold-decision.ts'
import type { ReservingWithdrawal, StoredPayment } from '../domain/payment.ts'
import { bindCreateAtProvider } from '../effects/create-at-provider.ts'
import { bindRefusal } from '../effects/discard-refused.ts'
import { bindHoldFunds } from '../effects/post-to-ledger.ts'
import { scriptedConnector } from '../effects/scripted-connector.fixture.ts'
import { scriptedLedger } from '../effects/scripted-ledger.fixture.ts'
import { newDeposit, newReservation, WITHDRAWAL_ROUTE } from '../payment.fixture.ts'
import { behindFormerPrimary, openPayments, type PaymentsFixture } from '../payments-store.fixture.ts'
import { keyOfPayment } from '../store/payments.ts'
import { awaitAdmission } from './await-change.ts'

let fixture: PaymentsFixture
beforeAll(async () => {
  fixture = await openPayments()
})
afterAll(async () => {
  await fixture[Symbol.asyncDispose]()
})

/** A withdrawal as a process left it that ended after its insert. Its effects are due, and not leased. */
function abandoned(): ReservingWithdrawal {
  const payment_id = uuidv7()
  return newReservation({ c_id: payment_id, payment_id, h_id: payment_id, ids: [payment_id] })
}

/** The effects of an admission over a ledger that gives every hold this refusal code. */
const deps = (refused_code = 0) => {
  const ledger = scriptedLedger(() => refused_code)
  const effects = [
    bindHoldFunds({ ledger: ledger.client, findRoute: async () => WITHDRAWAL_ROUTE }),
    ...bindRefusal(fixture.store),
  ]
  return { ledger, ...fixture.deps(effects) }
}

/** Leases the effects of a withdrawal to a process that then does nothing. */
async function leaseElsewhere(withdrawal: StoredPayment): Promise<Stored<StoredPayment>> {
  const { runner } = deps()
  return await runner.insert(withdrawal)
}

test('returns an admitted payment as it is', async () => {
  const payment = await fixture.store.payments.insert(newDeposit({ effects: [] }))
  expect(await awaitAdmission(deps(), payment)).toBe(payment)
})

// P3
test('places the hold of an abandoned withdrawal, and returns the payment', async () => {
  const withdrawal = await fixture.store.payments.insert(abandoned())
  const meeting = deps()
  expect(await awaitAdmission(meeting, withdrawal)).toMatchObject({
    payment_id: withdrawal.payment_id,
    status: 'created',
  })
  expect(meeting.ledger.holds).toHaveLength(1)
})

// P3
test('does not wait for a provider that hangs', async () => {
  const withdrawal = await fixture.store.payments.insert(abandoned())
  const answer = Promise.withResolvers<CallResult>()
  const provider = scriptedConnector(() => answer.promise)
  const ledger = scriptedLedger(() => 0)
  const meeting = fixture.deps([
    bindHoldFunds({ ledger: ledger.client, findRoute: async () => WITHDRAWAL_ROUTE }),
    bindCreateAtProvider(provider.deps()),
  ])
  expect(await awaitAdmission(meeting, withdrawal)).toMatchObject({ status: 'created' })
  answer.resolve({ kind: 'pending', provider_id: 'p-1' })
  const stored = () => fixture.store.payments.get(keyOfPayment(withdrawal))
  await eventually(stored, (found) => found?.status === 'processing')
  expect(provider.creates).toHaveLength(1)
})

// P2, P3
test('returns the withdrawal that it admitted also while a former primary does not know it', async () => {
  const withdrawal = await fixture.store.payments.insert(abandoned())
  const behind = { ...deps(), payments: behindFormerPrimary(fixture.store.payments) }
  expect(await awaitAdmission(behind, withdrawal)).toMatchObject({ status: 'created' })
})

// P3
test('does not return a withdrawal that the ledger refuses', async () => {
  const withdrawal = await fixture.store.payments.insert(abandoned())
  expect(await awaitAdmission(deps(6004), withdrawal)).toBeUndefined()
  const left = await fixture.store.payments.get(keyOfPayment(withdrawal))
  expect(left).toMatchObject({ status: 'refused', error_code: 6004 })
  if (left) expect(await awaitAdmission(deps(), left)).toBeUndefined()
})

test('asks the ledger once when many callers meet an abandoned withdrawal', async () => {
  const withdrawal = await fixture.store.payments.insert(abandoned())
  const meeting = deps()
  const met = await Promise.all(Array.from({ length: 20 }, () => awaitAdmission(meeting, withdrawal)))
  expect(new Set(met.map((payment) => payment?.status))).toEqual(new Set(['created']))
  expect(meeting.ledger.holds).toHaveLength(1)
})

test('waits for the process that has leased the hold, and does not ask the ledger', async () => {
  const leased = await leaseElsewhere(abandoned())
  const meeting = deps()
  const waiting = awaitAdmission(meeting, leased)
  if (leased.status !== 'reserving') throw new Error('the withdrawal is not reserving')
  const { payments } = fixture.store
  await payments.replace(admitWithdrawal({ ...leased, effects: [] }, now()), leased.version)
  expect(await waiting).toMatchObject({ status: 'created' })
  expect(meeting.ledger.holds).toEqual([])
})

test('a refused withdrawal is gone, also when another payment has its c_id by then', async () => {
  const leased = await leaseElsewhere(abandoned())
  const { payments } = fixture.store
  const waiting = awaitAdmission(deps(), leased)
  await payments.delete(keyOfPayment(leased), leased.version)
  const payment_id = uuidv7()
  await payments.insert(newDeposit({ c_id: leased.c_id, payment_id, h_id: payment_id, ids: [payment_id] }))
  expect(await waiting).toBeUndefined()
})

test('gives up before the deadline of its caller, and the sweeper goes on', async () => {
  const withdrawal = await fixture.store.payments.insert(abandoned())
  let is_down = true
  const ledger = scriptedLedger(() => {
    if (is_down) throw new Error('the ledger is down')
    return 0
  })
  const meeting = fixture.deps([
    bindHoldFunds({ ledger: ledger.client, findRoute: async () => WITHDRAWAL_ROUTE }),
  ])
  const request = { request_id: 'r-1', deadline_ms: clock.monotonic_ms() + 500 }
  await expect(withRequest(request, () => awaitAdmission(meeting, withdrawal))).rejects.toThrow(Unavailable)
  is_down = false
  meeting.runner.start()
  await eventually(
    () => fixture.store.payments.get(keyOfPayment(withdrawal)),
    (found) => found?.status === 'created',
  )
})
