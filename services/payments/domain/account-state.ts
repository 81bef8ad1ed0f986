/**
 * What the operator lets a provider account do. `draining`: no new payments. `disabled`: nothing that moves money, only lookups
 * and callbacks.
 */
export type AccountState = 'enabled' | 'draining' | 'disabled'

/** What the operator has set last, and who, when and why. */
export interface AccountSwitch {
  readonly state: AccountState
  readonly reason: string
  readonly principal_id: string
  readonly at: Date
  /** When it came back with a backup: the operator may have set another state after the backup (P20). */
  readonly restored_at?: Date | undefined
}

/** What is stored of the state of an account. */
export interface SwitchedAccount {
  /** Absent until the operator has switched it for the first time. */
  readonly switched?: AccountSwitch | undefined
  /** When it was switched last, for the index. */
  readonly switched_at?: Date | undefined
}

/** Switches an account. The same state for the same reason changes nothing, unless it is from a backup. Pure. */
export function switchAccount<A extends SwitchedAccount>(
  known: A,
  { state, reason, principal_id, at }: Omit<AccountSwitch, 'restored_at'>,
): A {
  const { switched } = known
  const is_same = switched?.state === state && switched.reason === reason && !switched.restored_at
  return is_same ? known : { ...known, switched: { state, reason, principal_id, at }, switched_at: at }
}

/** The account of a backup, with the state that it had by then and a mark that the operator may have set another one since. */
export function withRestoredState<A extends SwitchedAccount>(known: A, restored_at: Date): A {
  const { switched = { state: 'enabled', reason: '', principal_id: '', at: restored_at } } = known
  return { ...known, switched: { ...switched, restored_at }, switched_at: switched.at }
}
