import type { RootDatabase } from 'lmdb'
import { clock } from '#lib/base/time.ts'
import { Unavailable } from '#lib/contract/errors/unavailable.ts'
import { originalWrite } from '../coded-collection.ts'
import { Ambiguous, PrecedingWriteFailed } from '../errors.ts'
import type { TransactionNumbers } from './data-file.ts'

type Root = RootDatabase<Buffer, string>

/**
 * The error for the members of a failed group of writes. An error inside a transaction undoes it. A failed commit changed
 * nothing, unless it failed at its last step: then LMDB starts no further transaction, and the result is `Ambiguous`.
 */
export async function writeFailureOf(root: Root, error: unknown): Promise<Unavailable> {
  if (!isCommitFailure(error)) return new Unavailable('the store could not be written', { cause: error })
  // LMDB reports the reason through a second promise, which would end the process if it stayed unhandled.
  const cause = await reasonOf(error.commitError)
  try {
    await root.childTransaction(() => undefined)
  } catch {
    return new Ambiguous('the store failed in the middle of a commit', { cause })
  }
  return new Unavailable('the disk of the store is full or failing', { cause })
}

async function reasonOf(commit_error: Promise<unknown>): Promise<unknown> {
  try {
    return await commit_error
  } catch (reason) {
    return reason
  }
}

// Not `instanceof`: a test runner loads LMDB into a realm of its own, whose classes differ.
function isCommitFailure(error: unknown): error is { readonly commitError: Promise<unknown> } {
  if (typeof error !== 'object' || error === null || !('commitError' in error)) return false
  const { commitError } = error
  return typeof commitError === 'object' && commitError !== null && 'then' in commitError
}

/**
 * A write that is decided but not done. `apply` does the puts and must not throw. Deciding and applying are separate,
 * because an error before the first put refuses one write only, but an error after it would leave half a document.
 */
export interface PlannedWrite<T> {
  readonly result: T
  readonly apply?: () => void
}

/** Runs writes one by one and makes them durable in groups: one commit for all waiting writes. */
export interface Writer {
  /**
   * Runs `decide` on the state after all earlier writes, then `apply`, and resolves with the result once it is on disk.
   * `decide` refuses by throwing and then writes nothing. If `apply` throws, the whole group is undone. After a write that
   * failed, `decide` does not run: see `InsertOptions`.
   */
  write<T>(decide: () => PlannedWrite<T>, after?: Promise<unknown>): Promise<T>
  /** Whether a group of writes is in progress. */
  isWriting(): boolean
  /** Accepts no more writes. Resolves when all accepted writes have ended. */
  close(): Promise<void>
}

interface WaitingWrite {
  readonly since_ms: number
  /** Why its promise is rejected, as soon as that is decided. */
  failure(): { readonly error: unknown } | undefined
  /** Decides and applies. Returns the function that settles the caller's promise once the group is on disk. */
  readonly run: () => () => void
  readonly reject: (error: unknown) => void
}

interface Group {
  started: boolean
  members: readonly WaitingWrite[]
}

const WAITING_MAX = 20_000
const GROUP_MAX = 1_000

/** Ends a transaction that must not write, see `followsNewest`. The writes wait for the next one. */
const NOT_STARTED = new Error('the transaction does not follow the newest one')

/**
 * Whether the write transaction in progress follows the newest one. When a process opens an environment, LMDB reads the
 * number of the last transaction from the file and a moment later sets it for all processes, without a lock (ITS#9496).
 * What another process has committed in that moment would be undone by the next write, and its pages overwritten. So
 * each write compares the numbers first, and sets a number right that is too low; it has the lock. Reads may miss the last
 * transaction until then.
 */
function followsNewest(root: Root, numbers: TransactionNumbers): boolean {
  const newest = numbers.newest()
  const number = root.getWriteTxnId()
  if (number !== newest + 1 && numbers.shared() === number - 1) numbers.setShared(newest)
  return number === newest + 1
}

/** Far less often than groups are written, and often enough that the files grow by few pages. */
const READERS_CHECKED_MS = 10_000

/**
 * Makes the function that runs a transaction. When it is due, it first forgets the readers of killed processes: until then the pages that
 * they saw are not used again. LMDB itself does so when it is opened, and in a process that writes every 10 minutes.
 */
function createTransactions(root: Root): (work: () => void) => Promise<void> {
  let checked_ms = clock.monotonic_ms()
  return async (work) => {
    const now_ms = clock.monotonic_ms()
    if (now_ms - checked_ms >= READERS_CHECKED_MS) {
      checked_ms = now_ms
      root.readerCheck()
    }
    await root.childTransaction(work)
  }
}

/**
 * Enforces the time limit with one timer for all writes. Without it, a process that is paused while it holds LMDB's lock, or a disk
 * that hangs, would block callers permanently. The returned function starts the timer, which looks four times per limit, as long as
 * `endOverdue` returns `true`, and ends what has waited for half of it, so that each caller has its error before the limit.
 */
function createTimeLimit(timeout_ms: number, endOverdue: (overdue_ms: number) => boolean): () => void {
  let is_watching = false
  return function watch(): void {
    if (is_watching) return
    is_watching = true
    clock.after(timeout_ms / 4, () => {
      is_watching = false
      if (endOverdue(clock.monotonic_ms() - timeout_ms / 2)) watch()
    })
  }
}

/**
 * Creates the writer of one environment. A group is a child transaction, because LMDB commits an ordinary transaction
 * even when its function throws. Only one group runs at a time.
 */
export function createWriter(root: Root, numbers: TransactionNumbers, timeout_ms: number): Writer {
  let waiting: WaitingWrite[] = []
  /** The writes by their promises, which callers name to have others follow them. */
  const writes = new WeakMap<Promise<unknown>, WaitingWrite>()
  const transact = createTransactions(root)
  let running: Group | undefined
  let resolveClosed: (() => void) | undefined
  const watch = createTimeLimit(timeout_ms, (overdue_ms) => {
    if (running === undefined) return false
    for (const member of running.members)
      if (member.since_ms <= overdue_ms) member.reject(new Ambiguous('the disk did not answer in time'))
    const late = waiting.filter((member) => member.since_ms <= overdue_ms)
    waiting = waiting.filter((member) => member.since_ms > overdue_ms)
    for (const member of late) member.reject(new Unavailable('the write was not started in time'))
    return true
  })

  function start(): void {
    running = { started: false, members: [] }
    watch()
    void run(running).then(() => {
      running = undefined
      if (waiting.length > 0) start()
      else resolveClosed?.()
    })
  }

  async function run(group: Group): Promise<void> {
    let settlers: (() => void)[] = []
    try {
      await transact(() => {
        if (!followsNewest(root, numbers)) throw NOT_STARTED
        group.started = true
        group.members = waiting.splice(0, GROUP_MAX)
        settlers = group.members.map((member) => member.run())
      })
    } catch (error) {
      const failure = await writeFailureOf(root, error)
      const members = group.started || error === NOT_STARTED ? group.members : waiting.splice(0)
      // Refused members fail too: their refusal may depend on a write of the group, which is undone now.
      for (const member of members) member.reject(failure)
      return
    }
    for (const settle of settlers) settle()
  }

  function write<T>(decide: () => PlannedWrite<T>, preceding?: WaitingWrite): Promise<T> {
    if (resolveClosed !== undefined) return Promise.reject(new Unavailable('the store is closed'))
    if (waiting.length >= WAITING_MAX) return Promise.reject(new Unavailable('too many writes are waiting'))
    const result = Promise.withResolvers<T>()
    const added = createWaitingWrite(decide, result, preceding)
    waiting.push(added)
    writes.set(result.promise, added)
    if (running === undefined) start()
    return result.promise
  }

  return {
    write(decide, after) {
      if (after === undefined) return write(decide)
      // Writes run in the order of their calls, so this one follows in the same group or a later one.
      const preceding = writes.get(originalWrite(after))
      if (preceding !== undefined) return write(decide, preceding)
      return after.then(
        () => write(decide),
        (error: unknown) => Promise.reject(new PrecedingWriteFailed(error)),
      )
    },
    isWriting: () => running !== undefined,
    close() {
      return new Promise((resolve) => {
        resolveClosed = resolve
        if (running === undefined) resolve()
      })
    },
  }
}

/**
 * A write that waits for its group. Its `run` does not settle the promise of the caller: the function that it returns
 * does. It does nothing when the write that it follows has failed.
 */
function createWaitingWrite<T>(
  decide: () => PlannedWrite<T>,
  result: PromiseWithResolvers<T>,
  preceding: WaitingWrite | undefined,
): WaitingWrite {
  let failure: { readonly error: unknown } | undefined
  return {
    since_ms: clock.monotonic_ms(),
    failure: () => failure,
    reject(error) {
      failure ??= { error }
      result.reject(error)
    },
    run() {
      let decision: PlannedWrite<T>
      try {
        const preceding_failure = preceding?.failure()
        if (preceding_failure !== undefined) throw new PrecedingWriteFailed(preceding_failure.error)
        decision = decide()
      } catch (error) {
        failure ??= { error }
        return () => result.reject(error)
      }
      decision.apply?.()
      return () => result.resolve(decision.result)
    },
  }
}
