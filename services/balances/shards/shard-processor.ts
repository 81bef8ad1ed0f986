import { withoutDeadline } from '#lib/base/context.ts'
import { randomHex } from '#lib/base/crypto/random.ts'
import { clock } from '#lib/base/time.ts'
import { Unavailable } from '#lib/contract/errors/unavailable.ts'
import type { ClockGuard } from '#lib/patterns/clock-guard.ts'
import { ArchiveUnavailable } from '#lib/store/errors.ts'
import { type Command, isWellFormed } from '../domain/command.ts'
import { type CommandResult, decideCommand, resultOfRepeat } from '../domain/decide-command.ts'
import type { Batch } from '../domain/entry.ts'
import { CorruptJournal, nextPosition, sealBatch } from '../domain/hash-chain.ts'
import type { LedgerView } from '../domain/ledger-view.ts'
import type { RowChanges } from '../domain/rows.ts'
import { applyNext, createBatchDraft, type ShardState } from '../domain/shard-state.ts'
import { BATCHES_PER_READ } from '../limits.ts'
import type { Journal } from '../store/journal.ts'
import { createCommandQueue, type QueuedBatch } from './command-queue.ts'
import { commitToJournal, unknownCommitError } from './commit-batch.ts'
import {
  type EarlierEntries,
  noEarlierEntries,
  readEarlierEntries,
  readEntriesOfHolds,
  unreadableEntryOf,
  withEarlierEntries,
} from './earlier-entries.ts'

/** Decides commands of one shard in this process, commits them to its journal, and reads the accounts of the shard. */
export type ShardProcessor = ReturnType<typeof createShardProcessor>

/**
 * Decides the waiting commands batch by batch. Only this processor changes `state`. When idle, it decides at once; when
 * busy, all commands that arrive meanwhile form the next batch. The unique position of a batch is the fence against
 * other processes: when another process commits first, its batches are read and the same commands decided again. It
 * decides without reading whether an id has an entry, except for some holds and releases (`readEntriesOfHolds`): when
 * one has, the unique index of ids refuses the batch, the entries are read, and the commands decided again. It decides
 * only while the clock is trusted; reads need no clock. `onCommitted` is called after each committed batch.
 */
// biome-ignore lint/complexity/noExcessiveLinesPerFunction: its functions share the state of one shard
export function createShardProcessor(
  state: ShardState,
  journal: Journal,
  clock_guard: ClockGuard,
  onCommitted: () => void,
) {
  const queue = createCommandQueue()
  let is_running = false
  let unresolved: Batch | undefined
  let corruption: CorruptJournal | undefined
  let is_behind_archive = false

  /** Reads what other processes committed. Not `ArchiveUnavailable`: it is the shard that is not usable here, not one command. */
  async function readNewBatches(): Promise<void> {
    try {
      await catchUp(state, journal)
    } catch (error) {
      if (!(error instanceof ArchiveUnavailable)) throw error
      is_behind_archive = true
      throw new Unavailable(`shard ${state.shard} must be loaded again: ${error.message}`, { cause: error })
    }
  }

  /** Finds out whether the batch of an earlier `unknown` commit was written. Nothing is decided before that. */
  async function resolveUnknownCommit(): Promise<void> {
    if (unresolved === undefined) return
    const result = await commitToJournal(journal, unresolved, true)
    if (result.status === 'unknown') throw unknownCommitError(unresolved, result.cause)
    if (result.status === 'committed') append(unresolved)
    else await readNewBatches()
    unresolved = undefined
  }

  function append(batch: Batch, decided?: RowChanges): void {
    state.append(batch, decided)
    state.trimRecentEntries()
    onCommitted()
  }

  /**
   * Fails the commands while the clock is not trusted, because they need the time of their batch, and removes them. The
   * reads that wait with them need no time, so they stay.
   */
  function rejectCommandsUnlessClockTrusted(work: QueuedBatch): void {
    try {
      clock_guard.assertTrusted()
    } catch (error) {
      work.rejectCommands(error)
    }
  }

  /**
   * Decides, commits and resolves the work. Returns `false` when it must be decided again after catching up: another
   * process committed first, an id has an entry already, or there is nothing to commit and the state is not known to be
   * current. `is_current` says that the journal was read to its end after the work was taken. `earlier` has the entries
   * of the work's ids that were read from the journal. A command whose entry could not be read there is not decided.
   */
  async function tryBatch(work: QueuedBatch, earlier: EarlierEntries, is_current: boolean): Promise<boolean> {
    const base: LedgerView = {
      ...state,
      recordedEntry: (id) => earlier.found.get(id) ?? state.recordedEntry(id),
    }
    await readEntriesOfHolds(journal, state, work.commands, earlier)
    rejectCommandsUnlessClockTrusted(work)
    const { commands } = work
    const position = nextPosition(state.shard, state.head(), clock.now_ms())
    const draft = createBatchDraft(base, position)
    const results = commands.map(
      (command) => unreadableEntryOf(command, earlier) ?? decideCommand(draft, command, position),
    )
    if (draft.entries.length > 0) {
      const batch = sealBatch(position, state.head().hash, draft.entries, randomHex(16), journal.format)
      const commit = await commitToJournal(journal, batch)
      if (commit.status === 'superseded') return false
      if (commit.status === 'repeated_id') {
        await readEarlierEntries(
          journal,
          state.shard,
          draft.entries.map(({ id }) => id),
          earlier,
        )
        return false
      }
      if (commit.status === 'unknown') {
        unresolved = batch
        throw unknownCommitError(batch, commit.cause)
      }
      append(batch, draft.changes)
    } else if (!is_current) {
      return false
    }
    work.resolve(await withEarlierEntries(journal, state.shard, commands, results))
    return true
  }

  async function processBatch(): Promise<void> {
    await resolveUnknownCommit()
    const work = queue.takeBatch()
    const earlier = noEarlierEntries()
    try {
      for (let is_current = false; !(await tryBatch(work, earlier, is_current)); is_current = true) {
        await readNewBatches()
        if (work.isOverdue()) {
          throw new Unavailable(
            `shard ${state.shard}: other processes always committed first; repeat the command with the same id`,
          )
        }
      }
    } catch (error) {
      work.reject(error)
      throw error
    }
  }

  async function run(): Promise<void> {
    while (queue.size() > 0) {
      try {
        await processBatch()
      } catch (error) {
        if (error instanceof CorruptJournal) corruption = error
        // The waiting commands fail now, because each batch of them would wait for the store's time limit again.
        queue.rejectAll(error)
      }
    }
    is_running = false
  }

  function wake(): void {
    if (is_running) return
    is_running = true
    // The microtask gathers every command of this turn of the event loop into one batch. `run` never rejects.
    queueMicrotask(() => void withoutDeadline(run))
  }

  async function enqueue(command: Command): Promise<CommandResult> {
    if (corruption) throw corruption
    const result = queue.addCommand(command)
    wake()
    return await result
  }

  return {
    /**
     * The result of a command, committed when the promise resolves. Throws `Unavailable` when the store cannot be reached
     * or too many commands wait. The command may have been decided all the same; repeating it with the same id returns
     * the result.
     */
    async submit(command: Command): Promise<CommandResult> {
      if (!isWellFormed(command)) return { not_recorded: 'malformed' }
      const recent = state.recordedEntry(command.id)
      if (recent) return resultOfRepeat(recent, command)
      return await enqueue(command)
    },
    /** Runs `query` on a state that contains everything that was committed before the call. */
    async read<T>(query: (state: ShardState) => T): Promise<T> {
      if (corruption) throw corruption
      const current = queue.addRead()
      wake()
      await current
      return query(state)
    },
    /**
     * Whether this processor can go on. Not once the journal was found to be corrupt: then every read, and every well-formed command
     * whose entry is not in memory, throws `CorruptJournal`. Nor once the next batches are in an archive that cannot be read: a load
     * from the checkpoint needs none of them.
     */
    isUsable: (): boolean => corruption === undefined && !is_behind_archive,
  }
}

/**
 * Reads the batches after the head of a state and applies them. Ends when a linearizable read finds no next batch: pages
 * alone may come from a former primary during a fail-over. Throws `CorruptJournal` at a batch that does not follow.
 */
export async function catchUp(state: ShardState, journal: Journal): Promise<void> {
  for (;;) {
    const batches = await journal.listBatches(state.shard, state.head().seq + 1n, BATCHES_PER_READ)
    for (const batch of batches) applyNext(state, batch)
    if (batches.length === BATCHES_PER_READ) continue
    const next = await journal.getBatch(state.shard, state.head().seq + 1n)
    if (next === undefined) return
    applyNext(state, next)
  }
}
