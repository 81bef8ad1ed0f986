import { afterEach, describe, expect, test } from '@jest/globals'
import { CREATED_AT as at, CREATE_RESPONSE, FINGERPRINT, newReservation } from '../payment.fixture.ts'
import { applyProviderUpdate } from './apply-provider-update.ts'
import type { CallResult, OperationKind } from './call-result.ts'
import { endByOperator } from './end-without-report.ts'
import { admitWithdrawal } from './hold-decision.ts'
import { beginDeposit } from './new-payment.ts'
import { OPERATION_RULES, type OperationRules, operationOf, refOf } from './operation.ts'
import type { Payment } from './payment.ts'
import { applyRefundHold, beginApproval, decideReservation } from './refund-transitions.ts'
import { transition } from './transition.ts'

const KINDS: readonly OperationKind[] = ['deposit', 'withdrawal', 'refund']
const amount = { minor: 150_000n, currency: 'INR' }
const RESULTS: readonly CallResult[] = [
  { kind: 'success', provider_id: 'p', amount, completed_at: at },
  { kind: 'declined', code: 6044 },
  { kind: 'canceled', code: 6034 },
  { kind: 'not_sent', reason: 'refused' },
]

/** A payment whose operation of this kind has begun, without other effects, and the id of the refund. */
function begun(kind: OperationKind): { payment: Payment; refund_id?: string } {
  if (kind === 'withdrawal') return { payment: admitWithdrawal({ ...newReservation(), effects: [] }, at) }
  const { beneficiary: _, ...fields } = { ...newReservation(), direction: 'in', method: 'upi' } as const
  const deposit = beginDeposit({ ...fields, expires_at: new Date(at.getTime() + 60_000) })
  if (kind === 'deposit') return { payment: deposit }
  const refund_id = 'r-1'
  const paid = { ...transition(deposit, 'success', { at }), effects: [] }
  const { payment: reserved } = decideReservation(paid, { refund_id, c_id: 'c', reason: '' }, at)
  const { payment: approving } = beginApproval(reserved, refund_id, at)
  const decision = { refund_id, hold_id: 'r-1:hold:1', refused_code: undefined }
  return { payment: applyRefundHold({ ...approving, effects: [] }, decision, at), refund_id }
}

/** What a payment shows of its operation: the status, the account, and what its effects post. */
function seen(payment: Payment, refund_id?: string): string {
  const { status } = operationOf(payment, refund_id)
  const posted = payment.effects.flatMap(({ data }) => data['posting'] ?? [])
  return [status, `at ${payment.attempt.account_id}`, ...posted].join(', ')
}

/** What becomes of an operation, by what happens to it, and which results contradict each of its ends. */
function lifeOf(kind: OperationKind) {
  const { payment, refund_id } = begun(kind)
  const operation = operationOf(payment, refund_id)
  const report = (before: Payment, result: CallResult): Payment => {
    const create = result.kind === 'not_sent' ? { create: CREATE_RESPONSE } : {}
    const ref = refOf(operationOf(before, refund_id))
    return applyProviderUpdate(before, { ...ref, result, at, poll_at: at, ...create })
  }
  const ended = (is_paid: boolean): Payment =>
    endByOperator(payment, refund_id, { decision: 'a:b', is_paid, at, sends_callbacks: true })
  const ends = [...RESULTS.slice(0, 3).map((result) => report(payment, result)), ended(false)]
  const contradictions = ends.map((end) =>
    RESULTS.filter((result) => report(end, result).anomalies).map((result) => result.kind),
  )
  return {
    hold: operation.hold_id !== undefined,
    limits: payment.effects.map((effect) => effect.kind).filter((name) => /^(expire|report_open)/.test(name)),
    results: Object.fromEntries(
      RESULTS.map((result) => [result.kind, seen(report(payment, result), refund_id)]),
    ),
    not_paid: seen(ended(false), refund_id),
    contradictions,
  }
}

const LIVES: Readonly<Record<OperationKind, ReturnType<typeof lifeOf>>> = {
  deposit: {
    hold: false,
    limits: ['expire_payment'],
    results: {
      success: 'success, at first, credit',
      declined: 'error, at first',
      canceled: 'canceled, at first',
      not_sent: 'created, at second',
    },
    not_paid: 'error, at first',
    contradictions: [
      ['declined', 'canceled'],
      ['success', 'canceled'],
      ['success', 'declined'],
      ['success', 'canceled'],
    ],
  },
  withdrawal: {
    hold: true,
    limits: ['report_open'],
    results: {
      success: 'success, at first, capture',
      declined: 'error, at first, release',
      canceled: 'canceled, at first, release',
      not_sent: 'created, at second',
    },
    not_paid: 'error, at first, release',
    contradictions: [
      ['declined', 'canceled'],
      ['success', 'canceled'],
      ['success', 'declined'],
      ['success', 'canceled'],
    ],
  },
  refund: {
    hold: true,
    limits: ['report_open'],
    results: {
      success: 'completed, at first, capture',
      declined: 'failed, at first, release',
      canceled: 'failed, at first, release',
      not_sent: 'failed, at first, release',
    },
    not_paid: 'failed, at first, release',
    contradictions: [['declined', 'canceled'], ['success'], ['success'], ['success']],
  },
}

test.each(KINDS)('the life of a %s', (kind) => {
  expect(lifeOf(kind)).toEqual(LIVES[kind])
})

describe('a row of the table that is changed is noticed', () => {
  const rows: Record<OperationKind, OperationRules> = OPERATION_RULES
  const original = { ...rows }
  afterEach(() => {
    Object.assign(rows, original)
  })

  const mutants: readonly (readonly [
    string,
    readonly OperationKind[],
    (row: OperationRules) => Partial<OperationRules>,
  ])[] = [
    ['fails over', KINDS, ({ fails_over }) => ({ fails_over: !fails_over })],
    [
      'without a result',
      KINDS,
      (row) => ({ without_result: row.without_result === 'expires' ? 'is_reported' : 'expires' }),
    ],
    ['entry on success', KINDS, () => ({ entry_on_success: 'return' })],
    ['entry on failure', KINDS, () => ({ entry_on_failure: 'debit' })],
    ['no hold', ['withdrawal'], () => ({ hold: 'none' })],
    ['a hold', ['deposit'], () => ({ hold: 'funds_only' })],
    [
      'status of a refusal',
      ['deposit', 'withdrawal'],
      ({ ends }) => ({ ends: { ...ends, declined: 'canceled' } }),
    ],
    [
      'status of a cancellation',
      ['deposit', 'withdrawal'],
      ({ ends }) => ({ ends: { ...ends, canceled: 'error' } }),
    ],
    [
      'status of what is not paid',
      ['deposit', 'withdrawal'],
      ({ ends }) => ({ ends: { ...ends, not_paid: 'canceled' } }),
    ],
    [
      'status of a refund that failed',
      ['refund'],
      ({ ends }) => ({ ends: { ...ends, declined: 'completed' } }),
    ],
    [
      'status of a refund that was not sent',
      ['refund'],
      ({ ends }) => ({ ends: { ...ends, not_sent: 'completed' } }),
    ],
    ['nothing contradicts', KINDS, () => ({ contradicted_by: {} })],
  ]
  const cases = mutants.flatMap(([name, kinds, change]) => kinds.map((kind) => ({ name, kind, change })))
  test.each(cases)('$name of a $kind', ({ kind, change }) => {
    Object.assign(rows, { [kind]: { ...rows[kind], ...change(rows[kind]) } })
    let life: unknown
    try {
      life = lifeOf(kind)
    } catch (error) {
      // A transition that the table of statuses forbids.
      life = error
    }
    expect(life).not.toEqual(LIVES[kind])
  })
})

// P4
test('a refund is at the account that its deposit was sent to, and at the one that it was sent to itself', () => {
  const { payment, refund_id } = begun('refund')
  const stamps = [
    { fingerprint: FINGERPRINT, at },
    { fingerprint: '', at },
  ]
  expect(operationOf(payment, refund_id).account_stamps).toEqual(stamps)
})

// P19
test('a restored refund has begun when it was requested: it may have been sent before the approval that is known', () => {
  const { payment, refund_id } = begun('refund')
  const approved_at = new Date(at.getTime() + 3_600_000)
  const approved = payment.refunds?.map((refund) => ({ ...refund, approved_at })) ?? []
  expect(operationOf({ ...payment, refunds: approved }, refund_id).began_at).toEqual(approved_at)
  const restored = approved.map((refund) => ({ ...refund, restored: 'accounts_answered' as const }))
  expect(operationOf({ ...payment, refunds: restored }, refund_id).began_at).toEqual(at)
})
