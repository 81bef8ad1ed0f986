import { Unavailable } from '#lib/contract/errors/unavailable.ts'
import { ArchiveUnavailable } from '#lib/store/errors.ts'
import type { Command } from '../domain/command.ts'
import { type CommandResult, resultOfRepeat } from '../domain/decide-command.ts'
import { findEntry, type RecordedEntry } from '../domain/entry.ts'
import type { LedgerView } from '../domain/ledger-view.ts'
import type { Journal } from '../store/journal.ts'

/** The result of a command, or why it cannot be decided now: its id has an entry, which is in an archive that cannot be read. */
export type DecidedResult = CommandResult | ArchiveUnavailable

/** What was read of earlier entries for one batch of commands. */
export interface EarlierEntries {
  readonly found: Map<string, RecordedEntry>
  /** The ids that have an entry whose content could not be read. Nothing new may be decided under them. */
  readonly unreadable: Map<string, ArchiveUnavailable>
}

/** Nothing read yet. */
export function noEarlierEntries(): EarlierEntries {
  return { found: new Map(), unreadable: new Map() }
}

/** Reads the entries of these ids, which may be too old to be in memory, and adds the existing ones to `earlier`. */
export async function readEarlierEntries(
  journal: Journal,
  shard: number,
  ids: readonly string[],
  { found, unreadable }: EarlierEntries,
): Promise<void> {
  await Promise.all(
    ids.map(async (id) => {
      try {
        const [batch] = await journal.findByEntryId(shard, id, 1)
        const entry = batch && findEntry(batch, id)
        if (entry) found.set(id, entry)
      } catch (error) {
        // Only this command needs the archive. The others in its batch do not wait until it is back.
        if (!(error instanceof ArchiveUnavailable)) throw error
        unreadable.set(id, error)
      }
    }),
  )
}

/** Why a command cannot be decided now: its own entry, or the entry of the hold that it releases, could not be read. */
export function unreadableEntryOf(
  command: Command,
  { found, unreadable }: EarlierEntries,
): ArchiveUnavailable | undefined {
  if (found.has(command.id)) return undefined
  return (
    unreadable.get(command.id) ?? (command.kind === 'release' ? unreadable.get(command.hold_id) : undefined)
  )
}

/**
 * Reads the entries of holds that the decision of these commands needs. All other repetitions are found when the journal
 * refuses their batch, but a hold that is still open cannot be decided a second time: `Unavailable` when its entry is
 * not found. A release of a hold that is not open needs to know whether that hold was refused, or has not arrived.
 */
export async function readEntriesOfHolds(
  journal: Journal,
  view: LedgerView,
  commands: readonly Command[],
  earlier: EarlierEntries,
): Promise<void> {
  const isRead = (id: string): boolean => earlier.found.has(id) || earlier.unreadable.has(id)
  const isUnknown = (id: string): boolean => !view.recordedEntry(id) && !isRead(id)
  const repeated = commands
    .filter(({ kind, id }) => kind === 'hold' && view.hold(id) && isUnknown(id))
    .map(({ id }) => id)
  const released = commands
    .filter((command) => command.kind === 'release')
    .filter(({ id, hold_id }) => !view.hold(hold_id) && isUnknown(id))
    .flatMap(({ id, hold_id }) => [id, hold_id])
  if (repeated.length + released.length === 0) return
  await readEarlierEntries(journal, view.shard, [...repeated, ...released], earlier)
  if (!repeated.every(isRead))
    throw new Unavailable(`shard ${view.shard}: the entry of an open hold could not be read; try again`)
}

/**
 * The results of a batch. A command that was not recorded because of the state may repeat one that was recorded long
 * ago, in another state. Its result is then that entry.
 */
export async function withEarlierEntries(
  journal: Journal,
  shard: number,
  commands: readonly Command[],
  results: readonly DecidedResult[],
): Promise<readonly DecidedResult[]> {
  const doubtful = commands.filter((_, index) => dependsOnState(results[index]))
  if (doubtful.length === 0) return results
  const earlier = noEarlierEntries()
  await readEarlierEntries(journal, shard, [...new Set(doubtful.map(({ id }) => id))], earlier)
  return results.map((result, index) => {
    const command = commands[index]
    if (command === undefined || !dependsOnState(result)) return result
    const existing = earlier.found.get(command.id)
    return existing ? resultOfRepeat(existing, command) : (earlier.unreadable.get(command.id) ?? result)
  })
}

function dependsOnState(result: DecidedResult | undefined): boolean {
  if (result === undefined || !('not_recorded' in result)) return false
  return result.not_recorded === 'hold_not_open' || result.not_recorded === 'overflow'
}
