import { createMembership, type Membership } from '#lib/patterns/membership/membership.ts'
import { log } from '#lib/telemetry/log.ts'
import { gauge } from '#lib/telemetry/metrics.ts'
import type { LedgerMember, LedgerMembers } from '../store/members.ts'

/** The live processes that share the shards, as this process sees them. */
export type LedgerMembership = Membership<LedgerMember>

const live_processes = gauge(
  'multihub_ledger_live_processes',
  'Live balances processes that share the ledger shards, as this process sees them.',
)

/** Creates the membership of a balances process. The heartbeats tell the others which shards are `givenAway`. */
export function createLedgerMembership(
  members: LedgerMembers,
  self_address: string,
  isFit: () => boolean,
  givenAway: () => readonly number[],
): LedgerMembership {
  return createMembership({
    members,
    self_address,
    isFit,
    announce: () => ({ given_away: givenAway() }),
    onChange(live_count) {
      live_processes.set({}, live_count)
      log.info({ count: live_count }, 'the live balances processes changed, and shards move between them')
    },
  })
}
