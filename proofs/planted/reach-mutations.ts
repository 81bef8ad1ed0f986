import type { Mutation } from './mutation.ts'

/** Planted faults that show how far the simulation reaches: partitions, repeated requests, updates, new keys and quotas. */
export const REACH_MUTATIONS: readonly Mutation[] = [
  {
    name: 'a call without an answer is a fault of the program',
    file: 'lib/rpc/errors.ts',
    search: '[Code.Unavailable, Code.DeadlineExceeded, Code.Canceled]',
    replace: '[Code.Unavailable, Code.Canceled]',
    needs: ['roles are partitioned'],
  },
  {
    name: 'what a process has leased is never taken over',
    file: 'lib/patterns/effects/effect.ts',
    search: 'candidate.due_at.getTime(), candidate.lease?.until.getTime() ?? 0)',
    replace: 'candidate.due_at.getTime(), (candidate.lease?.until.getTime() ?? 0) + 3_600_000)',
    needs: ['partition lasts'],
  },
  {
    name: 'a process does not sweep what others have left',
    file: 'lib/patterns/effects/sweeper.ts',
    search: 'track(sweep(), onError), onError, first_ms)',
    replace: 'track(sweep(), onError), onError, first_ms * 1e6)',
    needs: ['role is killed'],
  },
  {
    name: 'an answer of the operator is stored at each delivery',
    file: 'services/support/comments/use-cases/comments.ts',
    search: "if (operation_id === '') return add(uuidv7())",
    replace: "if (operation_id !== ' ') return add(uuidv7())",
  },
  {
    name: 'the secrets of events stay under the old master key',
    file: 'services/notifier/operations.ts',
    search: 'event.destinations.map((target) => resealTarget(target, reseal))',
    replace: 'event.destinations.map((target) => target)',
    needs: ['master key is replaced'],
  },
  {
    name: 'what payments know of people stays under the old master key',
    file: 'services/payments/operations.ts',
    search: 'resealPerson(resealPayment(payment, reseal), person, keys)',
    replace: '(person && keys ? resealPayment(payment, reseal) : payment)',
    needs: ['master key is replaced'],
  },
  {
    name: 'a replay queues nothing',
    file: 'services/notifier/use-cases/replay-deliveries.ts',
    search: 'if (!is_queued) return undefined',
    replace: "if (!is_queued || current.status === 'dead') return undefined",
    needs: ['receiver is gone'],
  },
  {
    name: 'a replayed delivery wakes no notifier',
    file: 'services/notifier/use-cases/replay-deliveries.ts',
    search: 'await deps.pipeline.wake(present)',
    replace: 'await getDelivery(deps.deliveries, delivery_id)',
    needs: ['receiver is gone'],
  },
  {
    name: 'a quota admits one call too many',
    file: 'gateway/limits/quota-counter.ts',
    search: 'Math.max(0, quota.limit - counter.used)',
    replace: 'Math.max(0, quota.limit + 1 - counter.used)',
  },
  {
    name: 'a report of another account is applied',
    file: 'services/payments/provider-callbacks/receive-provider-callback.ts',
    search: '&& provider_accounts[attempt_number - 1] === account_id',
    replace: "&& provider_accounts[attempt_number - 1] !== '' && account_id !== ''",
  },
  {
    name: 'a chargeback in another currency is accepted',
    file: 'services/payments/domain/chargeback.ts',
    search: 'if (currency !== payment.currency) return 6002',
    replace: "if (currency === '') return 6002",
  },
  {
    name: 'a known ledger id with another amount is answered with its entry',
    file: 'services/balances/domain/decide-command.ts',
    search: 'isSameContent(existing.entry, command) ?',
    replace: 'existing.entry.amount >= 0n || isSameContent(existing.entry, command) ?',
  },
  {
    name: 'a fee takes more than there is',
    file: 'services/balances/domain/decide-command.ts',
    search: "debit === 'available' && credit !== 'chargebacks'",
    replace: "debit === 'available' && credit !== 'chargebacks' && credit !== 'fees'",
  },
  {
    name: 'a repeated creation makes another resource',
    file: 'services/merchants/use-cases/create-once.ts',
    search: 'const id = known ?? (await creations.reserve(creation, await issueId()))',
    replace:
      'const issued = await issueId()\n  await creations.reserve(creation, issued)\n  const id = known ?? issued',
  },
  {
    name: 'a refund of a failed-over payment goes to its first account',
    file: 'services/payments/domain/payment.ts',
    search: 'paid_attempt: number = 0,',
    replace: 'paid_attempt: number = 1,',
  },
  {
    name: 'what a provider has forgotten goes to the next account',
    file: 'services/payments/domain/apply-provider-update.ts',
    search: '  if (may_repeat && !is_known) {\n',
    replace:
      '  const moved = moveToNextAccount(payment, at, { next_attempt_at: at, fingerprintOf: () => fingerprint })\n  if (moved) return moved\n  if (may_repeat && !is_known) {\n',
    needs: ['provider forgets'],
  },
]
