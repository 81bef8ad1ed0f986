import { createMembers, MEMBERS_SPEC, type Member, type Members } from '#lib/patterns/membership/members.ts'
import type { Store } from '#lib/store/store.ts'

/** What a balances process tells the others with each heartbeat. */
export interface LedgerMember {
  /** The shards that it leaves to processes of a newer release. */
  readonly given_away: readonly number[]
}

/** The stored list of the balances processes that share the shards, by the addresses of their gRPC ports. */
export type LedgerMembers = Members<LedgerMember>

/** Opens the collection `members`. */
export async function openMembers(store: Store): Promise<LedgerMembers> {
  return createMembers(await store.collection<Member<LedgerMember>>(MEMBERS_SPEC), 'balances')
}
