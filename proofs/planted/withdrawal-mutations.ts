import type { Mutation } from './mutation.ts'

/** The planted faults of withdrawals: their holds, limits and refusals. */
export const WITHDRAWAL_MUTATIONS: readonly Mutation[] = [
  {
    name: 'the release of a failed withdrawal is forgotten',
    file: 'services/payments/domain/transition.ts',
    search: 'const entry = is_end ?',
    replace: "const entry = is_end && (payment.direction === 'in' || status !== 'canceled') ?",
  },
  {
    name: 'a failed withdrawal is captured',
    file: 'services/payments/effects/post-to-ledger.ts',
    search: '...scope, ...entry, ...holdOf(payment, data)',
    replace:
      '...scope, resolution: data.refund_id === undefined ? HoldResolution.CAPTURE : entry.resolution, ...holdOf(payment, data)',
  },
  {
    name: 'a hold is placed without limits',
    file: 'services/payments/effects/post-to-ledger.ts',
    search: '          limits,\n',
    replace: '',
  },
  {
    name: 'a hold gets another id at each try',
    file: 'services/payments/effects/post-to-ledger.ts',
    search: 'holdId: hold_id,',
    replace: "holdId: hold_id + (refund_id === undefined && payment.version > 1 ? payment.version : ''),",
    needs: ['rpc loses responses'],
  },
  {
    name: 'a refused withdrawal is admitted',
    file: 'services/payments/domain/hold-decision.ts',
    search: 'return refused_code === undefined\n',
    replace: 'return refused_code === undefined || refused_code === 6035\n',
  },
  {
    name: 'a withdrawal is sent to the provider before its hold',
    file: 'services/payments/domain/new-payment.ts',
    search: "  return { ...fields, status: 'reserving', payload_mac, history: [], updated_at: at, effects }",
    replace:
      "  const withdrawal = { ...fields, status: 'reserving', payload_mac, history: [], updated_at: at, effects } as const\n  return { ...withdrawal, effects: [...effects, ...withCreatedStatus(withdrawal, at).effects] }",
  },
  {
    name: 'a withdrawal with an unknown result goes to the next account',
    file: 'services/payments/domain/apply-provider-update.ts',
    search: "    case 'unknown':\n      return pollLater(payment, update)",
    replace:
      "    case 'unknown':\n      return (update.create && payment.direction === 'out' ? moveToNextAccount(payment, update.at, update.create) : undefined) ?? pollLater(payment, update)",
  },
  {
    name: 'a refused withdrawal is not deleted',
    file: 'services/payments/effects/discard-refused.ts',
    search: '        await payments.delete(keyOfPayment(requireRefused(document)), document.version)\n',
    replace: '        await payments.get(keyOfPayment(requireRefused(document)))\n',
  },
  {
    name: 'a c_id is freed before the refusal is recorded',
    file: 'services/payments/use-cases/create-payment.ts',
    search: '  await recordRefusal(withdrawal_refusals, refused)\n',
    replace: '  if (refused.version < 0) await recordRefusal(withdrawal_refusals, refused)\n',
  },
  {
    name: 'the event of a withdrawal does not wait for the ledger',
    file: 'services/payments/domain/transition.ts',
    search: 'at, after: entry?.id, ',
    replace: "at, after: payment.direction === 'in' ? entry?.id : undefined, ",
  },
  {
    name: 'a c_id in use is reported before the ledger decides',
    file: 'services/payments/use-cases/create-payment.ts',
    search: 'const decided = await awaitDecision(deps, stored)',
    replace: 'const decided = stored as Stored<Payment>',
  },
  {
    name: 'a status is read before the ledger decides',
    file: 'services/payments/use-cases/find-payment.ts',
    search: '!found || isAdmitted(found) ? found : await awaitAdmission(deps, found)',
    replace: '!found || isAdmitted(found) ? found : undefined',
  },
  {
    name: 'a failed withdrawal is not given back to the totals',
    file: 'services/balances/domain/apply-entry.ts',
    search: "entry.kind === 'release' ? totalsWithoutWithdrawal",
    replace: "entry.kind === 'settlement' ? totalsWithoutWithdrawal",
  },
  {
    name: 'a month that has ended still counts',
    file: 'services/balances/domain/payout-limits.ts',
    search: 'is_same_month: monthOf(day) === monthOf(totals.day),',
    replace: "is_same_month: totals.day !== '' && monthOf(day) >= monthOf(totals.day),",
  },
]
