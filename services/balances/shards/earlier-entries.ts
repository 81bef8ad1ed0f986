import { Unavailable } from '#lib/contract/errors/unavailable.ts'
import type { Command } from '../domain/command.ts'
import { type CommandResult, resultOfRepeat } from '../domain/decide-command.ts'
import { findEntry, type RecordedEntry } from '../domain/entry.ts'
import type { LedgerView } from '../domain/ledger-view.ts'
import type { Journal } from '../store/journal.ts'

/** Reads the entries of these ids, which may be too old to be in memory, and adds those that exist to `earlier`. */
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
 * Reads the entries of repeated commands whose hold is still open. All other repetitions are found when the journal
 * refuses their batch, but an open hold cannot be decided a second time. Throws `Unavailable` when one is not found.
 */
export async function readRepeatedHolds(
  journal: Journal,
  view: LedgerView,
  commands: readonly Command[],
  earlier: Map<string, RecordedEntry>,
): Promise<void> {
  const ids = commands
    .filter(({ kind, id }) => kind === 'hold' && view.hold(id) && !view.recordedEntry(id) && !earlier.has(id))
    .map(({ id }) => id)
  if (ids.length === 0) return
  await readEarlierEntries(journal, view.shard, ids, earlier)
  if (!ids.every((id) => earlier.has(id)))
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
