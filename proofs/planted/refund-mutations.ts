import type { Mutation } from './mutation.ts'

/** The planted faults of refunds and chargebacks. */
export const REFUND_MUTATIONS: readonly Mutation[] = [
  {
    name: 'a refund ignores chargebacks',
    file: 'services/payments/domain/refund.ts',
    search: 'return amount - refundedAmount(payment) - sum(chargebacks.filter(({ is_won }) => !is_won))',
    replace:
      'return amount - refundedAmount(payment) - sum(chargebacks.filter(({ is_won }) => is_won && !is_won))',
  },
  {
    name: 'a chargeback ignores refunds whose money is on its way',
    file: 'services/payments/domain/refund.ts',
    search: "({ state }) => state === 'approving' || state === 'approved',",
    replace: "({ state }) => state === 'approving',",
  },
  {
    name: 'a payment has two active refunds',
    file: 'services/payments/domain/refund-transitions.ts',
    search: 'if (refunds.some(isActive)) return 11005',
    replace: 'if (refunds.filter(isActive).length > 1) return 11005',
  },
  {
    name: 'an approval does not check the cap again',
    file: 'services/payments/domain/refund-transitions.ts',
    search: 'if (refund.amount > uncommittedAmount(payment)) return',
    replace: 'if (refund.amount > payment.amount) return',
  },
  {
    name: 'a refund is sent before its hold',
    file: 'services/payments/domain/refund-transitions.ts',
    search:
      '  return { payment: addEffect(changed, holdFundsEffect.newEffect(changed, { refund_id, hold_id }, { at })) }',
    replace:
      '  const sent = applyRefundHold(changed, { refund_id, hold_id, refused_code: undefined }, at)\n  return { payment: addEffect(sent, holdFundsEffect.newEffect(changed, { refund_id, hold_id }, { at })) }',
  },
  {
    name: 'a refund is sent again as if for the first time',
    file: 'services/payments/effects/create-at-provider.ts',
    search: 'if (tries > 1 ||',
    replace: 'if (tries > (refund_id === undefined ? 1 : 1_000) ||',
    needs: ['process is killed at a create'],
  },
  {
    name: 'a repeated refund gets another key',
    file: 'services/payments/effects/provider-call.ts',
    search: 'return { ...order, kind, deposit_idempotency_key',
    replace:
      "return { ...order, idempotency_key: idempotency_key + (earlier_result_unknown ? 'b' : ''), kind, deposit_idempotency_key",
    needs: ['provider loses refunds'],
  },
  {
    name: 'a partial refund counts as a whole one',
    file: 'services/payments/domain/refund-transitions.ts',
    search: 'changed.amount === refundedAmount(changed)',
    replace: 'changed.amount >= refundedAmount(changed)',
  },
  {
    name: 'a completed refund is announced before its money is taken',
    file: 'services/payments/domain/refund-transitions.ts',
    search: 'refund: { ...ended, entry } }), ended, report)',
    replace: 'refund: { ...ended, entry } }), ended, { at })',
    needs: ['rpc is late'],
  },
  {
    name: 'the hold of a failed refund is captured',
    file: 'services/payments/effects/post-to-ledger.ts',
    search: '...scope, ...entry, ...holdOf(payment, data)',
    replace:
      '...scope, resolution: data.refund_id === undefined ? entry.resolution : HoldResolution.CAPTURE, ...holdOf(payment, data)',
  },
  {
    name: 'a chargeback is debited again at each try',
    file: 'services/payments/effects/post-to-ledger.ts',
    search: 'transferId: id,',
    replace: "transferId: data.posting === 'debit' ? id + payment.version : id,",
    needs: ['rpc loses responses'],
  },
  {
    name: 'a won chargeback is not credited back',
    file: 'services/payments/domain/chargeback.ts',
    search: 'return addEffect(returned, entry)',
    replace: 'return returned',
  },
  {
    name: 'a chargeback is opened again by a repetition',
    file: 'services/support/chargebacks/use-cases/open-chargeback.ts',
    search: 'return opened ?? debit(deps, request, chargeback_id)',
    replace:
      "return opened ?? debit(deps, request, operation_id.endsWith('-3') ? chargeback_id.replace(/.$/, (last) => (last === '0' ? '1' : '0')) : chargeback_id)",
  },
  {
    name: 'events of refunds have one number',
    file: 'services/support/refunds/domain/refund.ts',
    search: "'refund.status_changed', number - 1)",
    replace: "'refund.status_changed', 1)",
  },
  {
    name: 'the reports of refunds are lost',
    file: 'services/payments/domain/refund-transitions.ts',
    search: '  return addEffect(changed, reportRefundEffect.newEffect(changed, report, { at, after }))',
    replace:
      "  return state === 'failed' ? changed : addEffect(changed, reportRefundEffect.newEffect(changed, report, { at, after }))",
  },
  {
    name: 'a failed refund still takes from its payment',
    file: 'services/payments/domain/refund.ts',
    search: "sum(refunds.filter(({ state }) => state === 'completed'))",
    replace: "sum(refunds.filter(({ state }) => state === 'completed' || state === 'failed'))",
  },
]
