import { ACCOUNT_MUTATIONS } from './account-mutations.ts'
import { BACKOFFICE_MUTATIONS } from './backoffice-mutations.ts'
import { FILE_MUTATIONS } from './file-mutations.ts'
import type { Mutation } from './mutation.ts'
import { NOTIFIER_MUTATIONS } from './notifier-mutations.ts'
import { PAUSE_MUTATIONS } from './pause-mutations.ts'
import { REACH_MUTATIONS } from './reach-mutations.ts'
import { REFUND_MUTATIONS } from './refund-mutations.ts'
import { REPORT_MUTATIONS } from './report-mutations.ts'
import { RESTORE_MUTATIONS } from './restore-mutations.ts'
import { ROOM_MUTATIONS } from './room-mutations.ts'
import { TICKET_MUTATIONS } from './ticket-mutations.ts'
import { WITHDRAWAL_MUTATIONS } from './withdrawal-mutations.ts'

/** All planted faults. When the code changes so that one no longer fits, the run says so. */
export const MUTATIONS: readonly Mutation[] = [
  {
    name: 'a success over another amount is accepted',
    file: 'services/payments/domain/apply-provider-update.ts',
    search: 'if (namesOtherAmount(result, operation.amount))\n    return',
    replace: 'if (payment.amount < 0n)\n    return',
    needs: ['provider contradicts itself'],
  },
  {
    name: 'a final status is not protected',
    file: 'services/payments/domain/apply-provider-update.ts',
    search: 'if (!operation.is_open && is_current) {',
    replace: "if (payment.status === 'refunded' && is_current) {",
  },
  {
    name: 'an unknown result goes to the next account',
    file: 'services/payments/domain/apply-provider-update.ts',
    search: "      return pollLater(payment, update)\n    case 'not_sent':",
    replace:
      "      return (update.create && moveToNextAccount(payment, update.at, update.create)) ?? pollLater(payment, update)\n    case 'not_sent':",
  },
  {
    name: 'a create is sent again as if for the first time',
    file: 'services/payments/effects/create-at-provider.ts',
    search: 'if (tries > 1 ||',
    replace: 'if (tries > (refund_id === undefined ? 1_000 : 1) ||',
    needs: ['process is killed at a create'],
  },
  {
    name: 'the credit gets another id at each try',
    file: 'services/payments/effects/post-to-ledger.ts',
    search: 'transferId: id,',
    replace: "transferId: data.posting === 'credit' ? id + payment.version : id,",
    needs: ['partition is one-way'],
  },
  {
    name: 'the credit is one minor unit too small',
    file: 'services/payments/effects/post-to-ledger.ts',
    search: 'chargeback_id === undefined ? payment.amount :',
    replace: 'chargeback_id === undefined ? payment.amount - 1n :',
  },
  {
    name: 'the event does not wait for the ledger',
    file: 'services/payments/domain/transition.ts',
    search: 'at, after: entry?.id, ',
    replace: 'at, ',
  },
  {
    name: 'a cancellation has no event',
    file: 'services/payments/domain/payment-event.ts',
    search: "canceled: 'payment.cancelled',",
    replace: 'canceled: undefined,',
  },
  {
    name: 'a repeated c_id is answered as a success',
    file: 'services/payments/use-cases/create-payment.ts',
    search: 'if (is_new) return stored',
    replace: 'if (is_new || stored.amount > 0n) return stored',
  },
  {
    name: 'the minimum amount itself is refused',
    file: 'services/payments/use-cases/permitted-route.ts',
    search: 'amount >= minimum_amount',
    replace: 'amount > minimum_amount',
  },
  {
    name: 'callbacks of the provider are not verified',
    file: 'services/payments/connectors/http/http-connector.ts',
    search: 'return verifySignedRequest(credentials.key, request, headers) ? parseReport(body) : undefined',
    replace:
      "return verifySignedRequest(credentials.key, request, headers) || path !== '' ? parseReport(body) : undefined",
  },
  {
    name: 'all processes use one instance number',
    file: 'services/payments/lease-instance-number.ts',
    search: 'nextId: numericIds(acquired.instance_number)',
    replace: 'nextId: numericIds(7)',
  },
  {
    name: 'the sweeper leaves out money',
    file: 'lib/patterns/effects/sweeper.ts',
    search: 'return LANES.map((lane) => {',
    replace: 'return LANES.slice(1).map((lane) => {',
  },
  {
    name: 'a failed try removes its effect',
    file: 'lib/patterns/effects/outcomes.ts',
    search: 'document.effects.map(replace) })',
    replace: 'document.effects.filter(({ id }) => id !== effect.id).map(replace) })',
  },
  {
    name: 'effects do not wait for what they name in after',
    file: 'lib/patterns/effects/effect.ts',
    search: 'if (candidate.after !== undefined && document.effects.some(',
    replace: "if (candidate.after === '' && document.effects.some(",
  },
  {
    name: 'leases are ignored when effects are due',
    file: 'lib/patterns/effects/effect.ts',
    search: 'return Math.max(candidate.due_at.getTime(), candidate.lease?.until.getTime() ?? 0)',
    replace: 'return candidate.due_at.getTime()',
  },
  {
    name: 'a process acts after its lease ran out',
    file: 'lib/patterns/effects/begin.ts',
    search: 'lease.until.getTime() > now().getTime())',
    replace: 'lease.until.getTime() > Math.min(0, now().getTime()))',
    needs: ['process is paused'],
  },
  {
    name: 'one missed reading kills a process',
    file: 'lib/patterns/membership/heartbeats.ts',
    search: 'const MISSED_MAX = 5',
    replace: 'const MISSED_MAX = 1',
    needs: ['process is paused'],
  },
  {
    name: 'a process without a confirmed heartbeat acts',
    file: 'lib/patterns/effects/runs.ts',
    search: 'heartbeats.confirmedAgoMs() < CONFIRMED_MAX_MS',
    replace: 'heartbeats.confirmedAgoMs() < CONFIRMED_MAX_MS * 1_000',
    needs: ['process is paused'],
  },
  {
    name: 'the age of a heartbeat stands still while the machine is suspended',
    file: 'lib/patterns/membership/heartbeats.ts',
    search: 'wall_ms - confirmed.wall_ms)',
    replace: 'Math.min(0, wall_ms - confirmed.wall_ms))',
    needs: ['machine is suspended'],
  },
  {
    name: 'the leases of the living are taken over',
    file: 'lib/patterns/effects/takeover.ts',
    search: 'bound.repeats || !runs.isDead(lease.run)',
    replace: 'bound.repeats || runs.dead().length === 0',
    needs: ['process is paused'],
  },
  {
    name: 'an event is removed without a receipt',
    file: 'lib/patterns/effects/publish-on-bus.ts',
    search: 'await Promise.all([send(subject, data), receipt.promise])',
    replace: 'await send(subject, data)',
  },
  {
    name: 'an event is removed although its RPC failed',
    file: 'lib/patterns/effects/publish-by-call.ts',
    search: '        has_failed = isNotifierUnavailable(error)\n        throw error',
    replace: '        has_failed = isNotifierUnavailable(error)',
    needs: ['bus stops'],
  },
  ...NOTIFIER_MUTATIONS,
  {
    name: 'a lost race counts as a commit',
    file: 'lib/patterns/journal/commit-batch.ts',
    search: "stored.token === batch.token ? 'committed' : 'superseded'",
    replace: "stored.token === '' ? 'superseded' : 'committed'",
  },
  {
    name: 'funds are not checked',
    file: 'services/balances/domain/decide-command.ts',
    search: 'before.available < posting.amount ?',
    replace: 'before.available < 0n ?',
  },
  {
    name: 'the ids of entries are not unique',
    file: 'services/balances/store/journal.ts',
    search: "by_entry_id: { fields: ['shard', 'ids[]'], unique: true },",
    replace: "by_entry_id: { fields: ['shard', 'ids[]'] },",
    needs: ['process stops in order'],
  },
  {
    name: 'a balance is read without catching up',
    file: 'services/balances/shards/shard-processor.ts',
    search: '} else if (!is_current) {',
    replace: '} else if (!is_current && commands.length > 0) {',
  },
  {
    name: 'a release before its hold is forgotten',
    file: 'services/balances/domain/decide-command.ts',
    search: "const is_released = posting.kind === 'hold' && draft",
    replace: "const is_released = posting.kind === 'capture' && draft",
  },
  {
    name: 'a loaded shard saves no checkpoints',
    file: 'services/balances/checkpoints/checkpoint.ts',
    search: 'return is_interval_over && isAffordable()',
    replace: 'return is_interval_over && is_stopped',
  },
  {
    name: 'a replaced secret is accepted',
    file: 'services/merchants/use-cases/credentials.ts',
    search: '...(overlap_seconds === 0 ? [] : keepOlder',
    replace: '...(overlap_seconds < 0 ? [] : keepOlder',
  },
  {
    name: 'a disabled credential is accepted',
    file: 'gateway/auth/credential.ts',
    search: "if (settings.status === 'disabled')",
    replace: "if (settings.status === 'disabled' && settings.version === 'v1')",
  },
  {
    name: 'a used nonce is accepted',
    file: 'gateway/auth/replay.ts',
    search: "if (result === 'reused') throw new PublicError(3000)",
    replace: "if (result === 'reused') return",
  },
  {
    name: 'an update does not start again after a conflict',
    file: 'lib/patterns/update.ts',
    search: 'error instanceof Conflict || ',
    replace: "error instanceof Duplicate && error.index === '' || ",
  },
  {
    name: 'an update overwrites what others wrote',
    file: 'lib/patterns/update.ts',
    search: 'return next ? collection.replace(next, current.version) : current',
    replace:
      'const latest = (await collection.get(key)) ?? current\n      return next && latest ? collection.replace(next, latest.version) : current',
  },
  {
    name: 'an event is dropped while the bus is down',
    file: 'lib/patterns/effects/outcomes.ts',
    search: 'effects: [...document.effects, again] })',
    replace: 'effects: again.tries < 0 ? [again] : document.effects })',
    needs: ['bus stops'],
  },
  {
    name: 'an open circuit breaker admits no probe',
    file: 'services/payments/connectors/circuit-breaker.ts',
    search: '=> opened === undefined || clock.monotonic_ms() >= opened.probe_at_ms',
    replace: '=> opened === undefined',
    needs: ['provider account is down'],
  },
  {
    name: 'a circuit breaker never closes',
    file: 'services/payments/connectors/circuit-breaker.ts',
    search: 'if (opened) change(undefined)',
    replace: 'if (opened && failures > 0) change(undefined)',
    needs: ['provider account is down'],
  },
  ...ACCOUNT_MUTATIONS,
  ...BACKOFFICE_MUTATIONS,
  ...FILE_MUTATIONS,
  ...PAUSE_MUTATIONS,
  ...REACH_MUTATIONS,
  ...REFUND_MUTATIONS,
  ...REPORT_MUTATIONS,
  ...RESTORE_MUTATIONS,
  ...ROOM_MUTATIONS,
  ...TICKET_MUTATIONS,
  ...WITHDRAWAL_MUTATIONS,
]
