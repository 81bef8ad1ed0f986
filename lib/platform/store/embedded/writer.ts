import type { RootDatabase } from 'lmdb'
import { Unavailable } from '#lib/contract/errors/unavailable.ts'
import { Ambiguous } from '#lib/platform/store/errors.ts'
import { clock } from '#lib/platform/time.ts'

/**
 * A write, decided. `apply` does the puts and must not throw. It is apart from the decision, because what throws
 * before the first put concerns one write, and what throws after it would leave half a document.
 */
export interface PlannedWrite<T> {
  readonly result: T
  readonly apply?: () => void
}

/** Runs writes one after the other and makes them durable in groups: one commit for all that waited. */
export interface Writer {
  /**
   * Runs `decide` on the state that all earlier writes have made, then its `apply`, and answers the outcome once it is
   * on disk. `decide` refuses by throwing and writes nothing; a throw of `apply` undoes the whole group.
   */
  write<T>(decide: () => PlannedWrite<T>): Promise<T>
  /** Takes no more writes; resolves when those that it took have ended. */
  close(): Promise<void>
}

interface Waiting {
  readonly since_ms: number
  /** Decides and applies; answers how to tell the caller when all is on disk. */
  readonly run: () => () => void
  readonly reject: (error: unknown) => void
}

interface Group {
  started: boolean
  members: readonly Waiting[]
}

const WAITING_MAX = 20_000
const GROUP_MAX = 1_000

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
    running = { started: false, members: [] }
    watch()
    void run(running).then(() => {
      running = undefined
      if (waiting.length > 0) start()
      else closed?.()
    })
  }

  async function run(group: Group): Promise<void> {
    let reports: (() => void)[] = []
    try {
      await root.childTransaction(() => {
        group.started = true
        group.members = waiting.slice(0, GROUP_MAX)
        waiting = waiting.slice(GROUP_MAX)
        reports = group.members.map((member) => member.run())
      })
    } catch (error) {
      const failure = await failureOf(error)
      const members = group.started ? group.members : takeAll()
      // Refusals too: one may rest on what an earlier member wrote, which is undone now.
      for (const member of members) member.reject(failure)
      return
    }
    for (const report of reports) report()
  }

  /**
   * What a group that failed means to its members. What is thrown inside a transaction undoes it. A commit that
   * fails has changed nothing unless it failed at its very last step, and then LMDB begins no more transactions.
   */
  async function failureOf(error: unknown): Promise<Unavailable> {
    if (!isCommitFailure(error)) return new Unavailable('the store could not be written', { cause: error })
    // LMDB tells the reason by a second promise, which would end the process if nobody handled it.
    const cause = await reasonOf(error.commitError)
    try {
      await root.childTransaction(() => undefined)
    } catch {
      return new Ambiguous('the store failed in the middle of a commit', { cause })
    }
    return new Unavailable('the disk of the store is full or failing', { cause })
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
    write<T>(decide: () => PlannedWrite<T>): Promise<T> {
      if (closed !== undefined) return Promise.reject(new Unavailable('the store is closed'))
      if (waiting.length >= WAITING_MAX) return Promise.reject(new Unavailable('too many writes are waiting'))
      return new Promise<T>((resolve, reject) => {
        const run = (): (() => void) => {
          let decision: PlannedWrite<T>
          try {
            decision = decide()
          } catch (error) {
            return () => reject(error)
          }
          decision.apply?.()
          return () => resolve(decision.result)
        }
        waiting.push({ since_ms: clock.monotonic_ms(), run, reject })
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

async function reasonOf(commit_error: Promise<unknown>): Promise<unknown> {
  try {
    return await commit_error
  } catch (reason) {
    return reason
  }
}

// By its shape and not by `instanceof`: where modules are loaded into several realms, LMDB may belong to another one.
function isCommitFailure(error: unknown): error is { readonly commitError: Promise<unknown> } {
  if (typeof error !== 'object' || error === null || !('commitError' in error)) return false
  const { commitError } = error
  return typeof commitError === 'object' && commitError !== null && 'then' in commitError
}
