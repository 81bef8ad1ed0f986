import { sha256Hex } from '#lib/base/crypto/hash.ts'
import type { Environment } from '#lib/contract/environment.ts'
import type { SwitchedAccount } from './account-state.ts'
import type { Anomaly } from './anomaly.ts'
import type { AccountStamp } from './payment.ts'

/** What is known of a provider account: what it was at first, or what the operator has confirmed that it is now (P4). */
export interface KnownAccount extends SwitchedAccount {
  readonly account_id: string
  /** What the account was when a process first had it, or when the operator confirmed it last. */
  readonly fingerprint: string
  /** When the operator confirmed that what it was by then has the operations of what it was before; absent until then. */
  readonly confirmed_at?: Date | undefined
  /** The number of confirmations so far. */
  readonly count: number
  /** The operations that confirmed it, the newest last. */
  readonly operation_ids: readonly string[]
}

/** What is known of an account that no process had before. */
export function newKnownAccount(now: Pick<KnownAccount, 'account_id' | 'fingerprint'>): KnownAccount {
  return { ...now, count: 0, operation_ids: [] }
}

/** The confirmations whose operations are known: more than are ever repeated late. */
const OPERATION_IDS_MAX = 20

/** A confirmation of what an account is now. An operation that has confirmed before changes nothing. Pure. */
export function confirmAccount(
  known: KnownAccount | undefined,
  {
    operation_id,
    at,
    ...now
  }: { readonly operation_id: string; readonly at: Date } & Pick<KnownAccount, 'account_id' | 'fingerprint'>,
): KnownAccount {
  const { count = 0, operation_ids = [] } = known ?? {}
  if (known && operation_ids.includes(operation_id)) return known
  const newest = [...operation_ids, operation_id].slice(-OPERATION_IDS_MAX)
  return { ...known, ...now, confirmed_at: at, count: count + 1, operation_ids: newest }
}

/**
 * Whether an operation was sent to something else than its account is now, so that "not found" proves nothing there and
 * nothing may be sent (P4). The operator's last confirmation covers what was sent before it. Without a stamp the operation was
 * sent after the backup that was restored, if at all: to what the account is known as (P19).
 */
export function isMoved(
  stamps: readonly (AccountStamp | undefined)[],
  fingerprint: string,
  known: KnownAccount | undefined,
): boolean {
  const is_known = known?.fingerprint === fingerprint
  const confirmed_at = is_known ? known.confirmed_at : undefined
  return stamps.some((stamp) => {
    if (stamp === undefined) return !is_known
    return stamp.fingerprint !== fingerprint && (confirmed_at === undefined || stamp.at >= confirmed_at)
  })
}

/**
 * Whether an operation may be sent to its account as it is now: that is what the operation keeps as its last send, so that
 * it is still known after one whose answer is lost. After a confirmation the poll keeps it before it repeats (P4).
 */
export function isSendKept(stamp: AccountStamp | undefined, fingerprint: string): boolean {
  return stamp?.fingerprint === fingerprint
}

/** The key of the anomaly about an account that has moved since its last confirmation. */
export function keyOfMovedAnomaly(account_id: string, confirmations: number) {
  const anomaly_id = sha256Hex(`account_moved:${account_id}:${confirmations}`).slice(0, 32)
  return { merchant_id: '', anomaly_id }
}

/** The anomaly about an account that has moved: one for each account, until it is confirmed. */
export function newMovedAnomaly(
  { account_id, environment }: { readonly account_id: string; readonly environment: Environment },
  known: KnownAccount | undefined,
  created_at: Date,
): Omit<Anomaly, 'open_since' | 'resolution'> {
  return {
    ...keyOfMovedAnomaly(account_id, known?.count ?? 0),
    environment,
    payment_id: '',
    account_id,
    kind: 'account_moved',
    description: `provider account ${account_id} has another connector, base URL or identity than when open operations were sent to it`,
    created_at,
  }
}
