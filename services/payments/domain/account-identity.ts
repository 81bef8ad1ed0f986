import { sha256Hex } from '#lib/base/crypto/hash.ts'
import type { Environment } from '#lib/contract/environment.ts'
import type { Anomaly } from './anomaly.ts'
import type { AccountStamp } from './payment.ts'

/** What the operator has confirmed about a provider account: what it is now has the operations of what it was (P4). */
export interface AccountConfirmation {
  readonly account_id: string
  /** What the account was when the operator confirmed it last. */
  readonly fingerprint: string
  readonly confirmed_at: Date
  /** The number of confirmations so far. */
  readonly count: number
  /** The operations that confirmed it, the newest last. */
  readonly operation_ids: readonly string[]
}

/** The confirmations whose operations are known: more than are ever repeated late. */
const OPERATION_IDS_MAX = 20

/** A confirmation of what an account is now. An operation that has confirmed before changes nothing. Pure. */
export function confirmAccount(
  known: AccountConfirmation | undefined,
  {
    operation_id,
    at,
    ...now
  }: { readonly operation_id: string; readonly at: Date } & Pick<
    AccountConfirmation,
    'account_id' | 'fingerprint'
  >,
): AccountConfirmation {
  const { count = 0, operation_ids = [] } = known ?? {}
  if (known && operation_ids.includes(operation_id)) return known
  const newest = [...operation_ids, operation_id].slice(-OPERATION_IDS_MAX)
  return { ...now, confirmed_at: at, count: count + 1, operation_ids: newest }
}

/**
 * Whether an operation was sent to something else than its account is now, so that "not found" proves nothing there and
 * nothing may be sent (P4). The operator's last confirmation covers what was sent before it.
 */
export function isMoved(
  stamps: readonly (AccountStamp | undefined)[],
  fingerprint: string,
  confirmation: AccountConfirmation | undefined,
): boolean {
  const confirmed_at = confirmation?.fingerprint === fingerprint ? confirmation.confirmed_at : undefined
  // Without a stamp the operation has not begun, as far as this store knows: it is asked for after a restore (P19).
  return stamps.some(
    (stamp) =>
      stamp !== undefined &&
      stamp.fingerprint !== fingerprint &&
      (confirmed_at === undefined || stamp.at >= confirmed_at),
  )
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
  confirmation: AccountConfirmation | undefined,
  created_at: Date,
): Omit<Anomaly, 'open_since' | 'resolution'> {
  return {
    ...keyOfMovedAnomaly(account_id, confirmation?.count ?? 0),
    environment,
    payment_id: '',
    kind: 'account_moved',
    description: `provider account ${account_id} has another connector, base URL or identity than when open operations were sent to it`,
    created_at,
  }
}
