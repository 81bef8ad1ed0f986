import type { Mutation } from './mutation.ts'

/**
 * Faults in what keeps money right after a restore: the ids of facts, which no path may change (P18), what a restore adds to
 * older payments, and the questions before anything is sent (P19).
 */
export const RESTORE_MUTATIONS: readonly Mutation[] = [
  {
    name: 'the id of a credit follows from its path',
    file: 'services/payments/domain/payment-effects.ts',
    search: '{ payment_id }: Payment, { posting, refund_id, chargeback_id }) =>',
    replace:
      "{ payment_id: id, history }: Payment, { posting, refund_id, chargeback_id }, payment_id = id + ':' + history.length) =>",
  },
  {
    name: 'the key of an event follows from its path',
    file: 'services/payments/domain/payment-event.ts',
    search: 'refund_id === undefined ? eventKeyOf(payment, payment.status)',
    replace: "refund_id === undefined ? payment.payment_id + ':' + payment.history.length",
  },
  {
    name: 'the completed refunds of a payment share one event',
    file: 'services/payments/domain/payment-event.ts',
    search: 'refund_id === undefined ? eventKeyOf(payment, payment.status)',
    replace: 'refund_id === undefined || payment.refunds ? eventKeyOf(payment, payment.status)',
  },
  {
    name: 'what happened while an ordered backup ran is forgotten',
    file: 'operations/backup/adopt-later-facts.ts',
    search: 'if (await checks.get(adopting)?.adopt?.(requirement))',
    replace: 'if (requirement.id === adopting && (await checks.get(adopting)?.adopt?.(requirement)))',
    is_restored: true,
  },
  {
    name: 'the ledger does not tell a restored payment of its refunds',
    file: 'services/payments/domain/payment-claims.ts',
    search: '      return adoptHold(payment, entry, at)\n',
    replace: '      return entry.amount < 0n ? adoptHold(payment, entry, at) : payment\n',
    is_restored: true,
  },
  {
    name: 'the refunds of support are not compared with their payments',
    file: 'services/support/operations.ts',
    search: 'yield requirementOfRefund(refund)',
    replace: 'if (refund.amount < 0n) yield requirementOfRefund(refund)',
    is_restored: true,
  },
  {
    name: 'the ledger does not tell a restored payment of its chargebacks',
    file: 'services/payments/domain/payment-claims.ts',
    search: 'return isAdmitted(payment) ? adoptChargebackEntry(payment, entry, at) : payment',
    replace:
      'return isAdmitted(payment) && entry.amount < 0n ? adoptChargebackEntry(payment, entry, at) : payment',
    is_restored: true,
  },
  {
    name: 'restore does not say what it cannot add',
    file: 'operations/backup/adopt-later-facts.ts',
    search: 'report(requirement.role, requirement.subject, false, reasons.get(requirement.subject))',
    replace: "report(requirement.role, requirement.subject, requirement.role !== 'support')",
    is_restored: true,
  },
  {
    name: 'a restored payment is not marked',
    file: 'services/payments/operations.ts',
    search: 'if (collection === PAYMENTS.name) return asRestored',
    replace: "if (collection === PAYMENTS.name + '?') return asRestored",
    is_restored: true,
  },
  {
    name: 'a restored payment asks the accounts that it knew of only',
    file: 'services/payments/domain/operation.ts',
    search: 'return payment.provider_accounts.map((account_id, index) =>',
    replace: 'return payment.provider_accounts.slice(0, payment.attempt.number).map((account_id, index) =>',
    is_restored: true,
  },
  {
    name: 'what is not found soon after a restore is sent again',
    file: 'services/payments/domain/restored.ts',
    search: 'asked_at.getTime() - asked_since.getTime() < SEARCH_LAG_MS',
    replace: 'asked_at.getTime() < asked_since.getTime()',
    is_restored: true,
  },
  {
    name: 'a restored operation is sent at once',
    file: 'services/payments/effects/create-at-provider.ts',
    search: 'tries > 1 || restored !== undefined || record',
    replace: 'tries > 1 || record',
    is_restored: true,
  },
  {
    name: 'bytes that no restored file names come back',
    file: 'services/attachments/store/attachments-store.ts',
    search: 'return attachment?.upload?.blob_id === blob_id',
    replace: 'return attachment !== undefined',
    is_restored: true,
    has_files: true,
  },
]
