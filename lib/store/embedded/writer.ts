import type { RootDatabase } from 'lmdb'
import { clock } from '#lib/time.ts'
import { Ambiguous, Conflict, Duplicate, Unavailable } from '../errors.ts'

/** Runs writes one after the other and makes them durable in groups: one commit for all that waited. */
export interface Writer {
  /**
   * Runs `operation` inside a transaction and answers what it answered, once that is on disk. It may refuse by
   * throwing `Conflict`, `Duplicate` or `TypeError`, but only before its first put; anything else that is thrown
   * undoes the whole group.
   */
  write<T>(operation: () => T): Promise<T>
  /** Takes no more writes; resolves when those that it took have ended. */
  close(): Promise<void>
}

interface Waiting {
  readonly operation: () => unknown
  readonly since_ms: number
  readonly resolve: (outcome: unknown) => void
  readonly reject: (error: unknown) => void
  outcome: unknown
  refusal: Error | undefined
}

interface Group {
  started: boolean
  members: Waiting[]
}

const WAITING_MAX = 20_000
const GROUP_MAX = 1_000
// What LMDB says when there is no room: ENOSPC, EDQUOT, MDB_MAP_FULL, MDB_TXN_FULL. Nothing was committed then.
const FULL = [28, 122, -30792, -30788]

/**
 * The writer of one environment. A group is a child transaction because LMDB's own transactions, once begun, are
 * committed even when their function throws. Only one group is under way at a time.
 */
export function createWriter(root: RootDatabase<Buffer, string>, timeout_ms: number): Writer {
  let waiting: Waiting[] = []
  let running: Group | undefined
  let watched = false
  let closed: (() => void) | undefined

  function start(): void {
    const group: Group = { started: false, members: [] }
    running = group
    watch()
    root
      .childTransaction(() => {
        group.started = true
        group.members = waiting.slice(0, GROUP_MAX)
        waiting = waiting.slice(GROUP_MAX)
        runGroup(group.members)
      })
      .then(
        () => finish(() => settle(group.members)),
        (error: unknown) => finish(() => fail(group.started ? group.members : takeAll(), error)),
      )
  }

  function finish(report: () => void): void {
    running = undefined
    report()
    if (waiting.length > 0) start()
    else closed?.()
  }

  function takeAll(): Waiting[] {
    const all = waiting
    waiting = []
    return all
  }

  /**
   * Keeps the time limit, by a timer for all and not one for each. Another process that stopped while it held
   * LMDB's lock, or a disk that hangs, would otherwise hold a caller for ever.
   */
  function watch(): void {
    if (watched) return
    watched = true
    clock.after(timeout_ms / 4, () => {
      watched = false
      if (running === undefined) return
      const overdue_ms = clock.monotonic_ms() - timeout_ms / 2
      for (const member of running.members) {
        if (member.since_ms <= overdue_ms) member.reject(new Ambiguous('the disk did not answer in time'))
      }
      const late = waiting.filter((member) => member.since_ms <= overdue_ms)
      waiting = waiting.filter((member) => member.since_ms > overdue_ms)
      for (const member of late) member.reject(new Unavailable('the write had no turn in time'))
      watch()
    })
  }

  return {
    write<T>(operation: () => T): Promise<T> {
      if (closed !== undefined) return Promise.reject(new Unavailable('the store is closed'))
      if (waiting.length >= WAITING_MAX) return Promise.reject(new Unavailable('too many writes are waiting'))
      return new Promise<T>((resolve, reject) => {
        waiting.push({
          operation,
          since_ms: clock.monotonic_ms(),
          // Sound because `outcome` is what this very `operation` answered.
          resolve: resolve as (outcome: unknown) => void,
          reject,
          outcome: undefined,
          refusal: undefined,
        })
        if (running === undefined) start()
      })
    },
    close() {
      return new Promise((resolve) => {
        closed = resolve
        if (running === undefined) resolve()
      })
    },
  }
}

function runGroup(members: readonly Waiting[]): void {
  for (const member of members) {
    try {
      member.outcome = member.operation()
    } catch (error) {
      if (!isRefusal(error)) throw error
      member.refusal = error
    }
  }
}

function isRefusal(error: unknown): error is Error {
  return error instanceof Conflict || error instanceof Duplicate || error instanceof TypeError
}

function settle(members: readonly Waiting[]): void {
  for (const member of members) {
    if (member.refusal === undefined) member.resolve(member.outcome)
    else member.reject(member.refusal)
  }
}

function fail(members: readonly Waiting[], error: unknown): void {
  if (!isCommitFailure(error)) {
    // Thrown inside the transaction, which was therefore undone.
    rejectAll(members, new Unavailable('the store could not be written', { cause: error }))
    return
  }
  // LMDB tells the reason of a failed commit by a second promise, which would end the process if nobody handled it.
  error.commitError.then(
    () => rejectAll(members, new Ambiguous('the store failed to commit', { cause: error })),
    (reason: unknown) => rejectAll(members, commitFailure(reason)),
  )
}

function commitFailure(reason: unknown): Error {
  const code = typeof reason === 'object' && reason !== null && 'code' in reason ? reason.code : undefined
  if (FULL.some((full) => full === code))
    return new Unavailable('the disk of the store is full', { cause: reason })
  return new Ambiguous('the store failed to commit', { cause: reason })
}

function rejectAll(members: readonly Waiting[], error: Error): void {
  for (const member of members) member.reject(member.refusal ?? error)
}

function isCommitFailure(error: unknown): error is { readonly commitError: Promise<unknown> } {
  return error instanceof Error && 'commitError' in error && error.commitError instanceof Promise
}
