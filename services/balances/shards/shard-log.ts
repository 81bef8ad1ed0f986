import { Unavailable } from '#lib/contract/errors/unavailable.ts'
import { withoutDeadline } from '#lib/platform/context.ts'
import { clock } from '#lib/platform/time.ts'
import { type Command, isWellFormed } from '../domain/command.ts'
import { type CommandResult, decideCommand, resultOfRepeat } from '../domain/decide-command.ts'
import { type Batch, type BatchPosition, findEntry } from '../domain/entry.ts'
import { CorruptJournal, sealBatch } from '../domain/hash-chain.ts'
import { createBatchDraft, type ShardState } from '../domain/shard-state.ts'
import { WAITING_COMMANDS_MAX } from '../limits.ts'
import type { Journal } from '../store/ledger-store.ts'
import { catchUp } from './catch-up.ts'
import { createCommandQueue, type QueuedBatch } from './command-queue.ts'
import { commitBatch, unsureError } from './commit-batch.ts'

/** One shard as this process decides it. */
export interface ShardLog {
  /**
   * The outcome of a command, committed when the promise resolves. Throws `Unavailable` when the store is away or too
   * many wait: the command may have been decided or not, and its repeat under the same id learns which.
   */
  submit(command: Command): Promise<CommandResult>
  /** What `query` says of the state, which was proven to be the newest after the call began. */
  read<T>(query: (state: ShardState) => T): Promise<T>
  /** The journal contradicts itself: this log answers nothing any more. */
  broken(): boolean
}

/**
 * Decides what waits, batch by batch, on a state that it alone moves. Idle, it decides at once; busy, everything that
 * came meanwhile goes into the next batch. The unique place of a batch is the fence against other processes: when one
 * was faster, its batches are read and the same commands decided again. `committed` is called after each batch.
 */
export function createShardLog(state: ShardState, journal: Journal, committed: () => void): ShardLog {
  const queue = createCommandQueue()
  const lookups = new Set<{ readonly after: bigint }>()
  let running = false
  let unsure: Batch | undefined
  let fault: CorruptJournal | undefined

  // Whoever looked its id up at a head relies on finding later batches in memory, until it is answered.
  const forget = (): void => {
    const [oldest] = lookups
    state.trimRecentEntries(oldest?.after ?? state.head().seq)
  }

  const next = (): BatchPosition => {
    const { seq, time_ms } = state.head()
    return { shard: state.shard, seq: seq + 1n, time: new Date(Math.max(clock.now_ms(), time_ms)) }
  }

  /** Learns the fate of the batch that an earlier commit had to leave open. Nothing is decided before. */
  async function settle(): Promise<void> {
    if (unsure === undefined) return
    const fate = await commitBatch(journal, unsure, true)
    if (typeof fate === 'object') throw unsureError(unsure, fate.unsure)
    if (fate === 'ours') append(unsure)
    else await catchUp(state, journal, forget)
    unsure = undefined
  }

  function append(batch: Batch): void {
    state.append(batch)
    forget()
    committed()
  }

  /**
   * Decides, commits and answers; `false`: another process was faster, or, with nothing to commit, the state was not
   * `proven` to be the newest by reading on in the journal after the work was taken.
   */
  async function attempt(work: QueuedBatch, proven: boolean): Promise<boolean> {
    const at = next()
    const draft = createBatchDraft(state, at)
    const outcomes = work.commands.map(({ command }) => decideCommand(draft, command, at))
    if (draft.entries.length > 0) {
      const batch = sealBatch(at, state.head().hash, draft.entries)
      const fate = await commitBatch(journal, batch)
      if (fate === 'overtaken') return false
      if (fate !== 'ours') {
        unsure = batch
        throw unsureError(batch, fate.unsure)
      }
      append(batch)
    } else if (!proven) {
      return false
    }
    work.answer(outcomes)
    return true
  }

  async function cycle(): Promise<void> {
    await settle()
    const work = queue.take()
    try {
      for (let proven = false; !(await attempt(work, proven)); proven = true) {
        await catchUp(state, journal, forget)
        if (work.isLate()) throw new Unavailable(`shard ${state.shard}: other processes are always faster`)
      }
    } catch (error) {
      work.fail(error)
      throw error
    }
  }

  async function run(): Promise<void> {
    while (queue.size() > 0) {
      try {
        await cycle()
      } catch (error) {
        if (error instanceof CorruptJournal) fault = error
        // One after the other would wait for the store's time limit: what waits now is told now.
        queue.failAll(error)
      }
    }
    running = false
  }

  function wake(): void {
    if (running) return
    running = true
    // Everything that asks in this turn of the event loop comes into one batch; `run` itself never rejects.
    queueMicrotask(() => void withoutDeadline(run))
  }

  async function decided(command: Command): Promise<CommandResult> {
    if (fault) throw fault
    const answer = queue.addCommand(command)
    wake()
    return await answer
  }

  return {
    async submit(command) {
      if (!isWellFormed(command)) return { rejected: 'malformed' }
      const known = state.recordedEntry(command.id)
      if (known) return resultOfRepeat(known, command)
      if (lookups.size >= WAITING_COMMANDS_MAX)
        throw new Unavailable(`shard ${state.shard}: too many commands wait`)
      const lookup = { after: state.head().seq }
      lookups.add(lookup)
      try {
        const [batch] = await journal.findByEntryId(state.shard, command.id, 1)
        const found = batch && findEntry(batch, command.id)
        return found ? resultOfRepeat(found, command) : await decided(command)
      } finally {
        lookups.delete(lookup)
      }
    },
    async read(query) {
      if (fault) throw fault
      const fresh = queue.addReader()
      wake()
      await fresh
      return query(state)
    },
    broken: () => fault !== undefined,
  }
}
