import { expect, test } from '@jest/globals'
import type { ErrorCode } from '#lib/contract/errors/error-table.ts'
import { PublicError } from '#lib/contract/errors/public-error.ts'
import { recordAnomalyEffect } from '../domain/anomaly.ts'
import { applyHoldDecision } from '../domain/hold-decision.ts'
import { requireAdmitted } from '../domain/payment.ts'
import { postEntryEffect } from '../domain/payment-effects.ts'
import { CREATED_AT, newDeposit, newReservation } from '../payment.fixture.ts'
import { openPayments } from '../payments-store.fixture.ts'
import { bindPostEntry, type LedgerClient } from './post-to-ledger.ts'
import { scriptedLedger } from './scripted-ledger.fixture.ts'

/** A ledger whose client throws this code for each transfer. */
function refusingLedger(code: ErrorCode): LedgerClient {
  return { ...scriptedLedger().client, postTransfer: () => Promise.reject(new PublicError(code)) }
}

/** Runs the credit of a successful deposit once. */
async function postCredit(code: ErrorCode, tries = 0) {
  await using fixture = await openPayments()
  const deposit = newDeposit({ status: 'success', effects: [] })
  const credit = postEntryEffect.newEffect(deposit, { posting: 'credit' }, { at: CREATED_AT })
  const runner = fixture.runner([bindPostEntry(refusingLedger(code))])
  return runner.runEffects(await runner.insert({ ...deposit, effects: [{ ...credit, tries }] }))
}

// E6
test.each<ErrorCode>([1013, 6001, 8801, 9000])(
  'an entry that the ledger refuses with %d is stuck after one try, with an anomaly',
  async (code) => {
    const { effects, stuck_at } = await postCredit(code)
    expect(effects).toMatchObject([
      { kind: postEntryEffect.kind, tries: 1, stuck: true },
      {
        kind: recordAnomalyEffect.kind,
        data: { kind: 'ledger_refused', description: expect.stringContaining(`with ${code}`) },
      },
    ])
    expect(stuck_at).toBeInstanceOf(Date)
  },
)

test('the anomaly of a refused capture names the refund', async () => {
  await using fixture = await openPayments()
  const refund_id = 'refund-1'
  const refund = { refund_id, amount: 400n, state: 'completed', change_number: 3, holds: 1 } as const
  const refunds = [{ ...refund, created_at: CREATED_AT }]
  const payment = newDeposit({ status: 'partially_refunded', refunds, effects: [] })
  const capture = postEntryEffect.newEffect(payment, { posting: 'capture', refund_id }, { at: CREATED_AT })
  const resolveHold = () => Promise.reject(new PublicError(8801))
  const runner = fixture.runner([bindPostEntry({ ...scriptedLedger().client, resolveHold })])
  const { effects } = await runner.runEffects(await runner.insert({ ...payment, effects: [capture] }))
  expect(effects).toMatchObject([
    { kind: postEntryEffect.kind, stuck: true },
    { kind: recordAnomalyEffect.kind, data: { kind: 'ledger_refused', refund_id } },
  ])
})

// P19.13. A restore reads the words of earlier releases: never change them here.
test.each([
  ['canceled', 'withdrawal canceled'],
  ['error', 'withdrawal failed'],
] as const)('the release of a withdrawal that ended as %s says so', async (status, reason) => {
  await using fixture = await openPayments()
  const reserving = newReservation()
  const placed = { hold_id: `${reserving.payment_id}:hold`, refused_code: undefined }
  const held = requireAdmitted(applyHoldDecision(reserving, placed, CREATED_AT))
  const payment = { ...held, status, effects: [] }
  const release = postEntryEffect.newEffect(payment, { posting: 'release' }, { at: CREATED_AT })
  const reasons: unknown[] = []
  const resolveHold = async (request: { readonly reason?: string | undefined }) => {
    reasons.push(request.reason)
    return {}
  }
  const client = { ...scriptedLedger().client, resolveHold } as never
  const runner = fixture.runner([bindPostEntry(client)])
  await runner.runEffects(await runner.insert({ ...payment, effects: [release] }))
  expect(reasons).toEqual([reason])
})

test.each<ErrorCode>([2001, 2002])('an entry that fails with %d is tried again', async (code) => {
  const { effects } = await postCredit(code)
  expect(effects).toMatchObject([{ kind: postEntryEffect.kind, tries: 1 }])
  expect(effects[0]).not.toHaveProperty('stuck')
})

// B4.4: a stop of the ledger may last for days, and somebody must end it, not each effect.
test.each<ErrorCode>([2001, 2002])(
  'an entry that has failed with %d for days is tried again',
  async (code) => {
    const { effects } = await postCredit(code, 100_000)
    expect(effects).toMatchObject([{ kind: postEntryEffect.kind, tries: 100_001 }])
    expect(effects[0]).not.toHaveProperty('stuck')
  },
)
