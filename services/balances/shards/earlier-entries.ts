import { Unavailable } from '#lib/contract/errors/unavailable.ts'
import type { Command } from '../domain/command.ts'
import { type CommandResult, resultOfRepeat } from '../domain/decide-command.ts'
import { findEntry, type RecordedEntry } from '../domain/entry.ts'
import type { LedgerView } from '../domain/ledger-view.ts'
import type { Journal } from '../store/journal.ts'

/** Reads the entries of these ids, which may be too old to be in memory, and adds the existing ones to `earlier`. */
export async function readEarlierEntries(
  journal: Journal,
  shard: number,
  ids: readonly string[],
  earlier: Map<string, RecordedEntry>,
): Promise<void> {
  const batches = await Promise.all(ids.map((id) => journal.findByEntryId(shard, id, 1)))
  for (const [index, id] of ids.entries()) {
    const entry = batches[index]?.[0] && findEntry(batches[index][0], id)
    if (entry) earlier.set(id, entry)
  }
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
  earlier: Map<string, RecordedEntry>,
): Promise<void> {
  const isUnknown = (id: string): boolean => !view.recordedEntry(id) && !earlier.has(id)
  const repeated = commands
    .filter(({ kind, id }) => kind === 'hold' && view.hold(id) && isUnknown(id))
    .map(({ id }) => id)
  const released = commands
    .filter((command) => command.kind === 'release')
    .filter(({ id, hold_id }) => !view.hold(hold_id) && isUnknown(id))
    .flatMap(({ id, hold_id }) => [id, hold_id])
  if (repeated.length + released.length === 0) return
  await readEarlierEntries(journal, view.shard, [...repeated, ...released], earlier)
  if (!repeated.every((id) => earlier.has(id)))
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
  results: readonly CommandResult[],
): Promise<readonly CommandResult[]> {
  const doubtful = commands.filter((_, index) => dependsOnState(results[index]))
  if (doubtful.length === 0) return results
  const earlier = new Map<string, RecordedEntry>()
  await readEarlierEntries(journal, shard, [...new Set(doubtful.map(({ id }) => id))], earlier)
  return results.map((result, index) => {
    const command = commands[index]
    const existing = command && dependsOnState(result) ? earlier.get(command.id) : undefined
    return command && existing ? resultOfRepeat(existing, command) : result
  })
}

function dependsOnState(result: CommandResult | undefined): boolean {
  if (result === undefined || !('not_recorded' in result)) return false
  return result.not_recorded === 'hold_not_open' || result.not_recorded === 'overflow'
}
