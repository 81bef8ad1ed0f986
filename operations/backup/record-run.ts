import { access } from 'node:fs/promises'
import { join } from 'node:path'
import { readBuildInfo } from '#lib/base/build-info.ts'
import type { Config } from '#lib/base/config/config.ts'
import { uuidv7 } from '#lib/base/ids.ts'
import { now } from '#lib/base/time.ts'
import {
  createOperationRuns,
  OPERATION_RUNS,
  type OperationKind,
  type OperationRun,
  type OperationRuns,
} from '#lib/patterns/operation-runs.ts'
import type { Store } from '#lib/store/store.ts'
import { type CommandOutput, explainStartError } from '../../app/run.ts'
import { type DATABASE_SETTINGS, databasesOf, loadOperations } from '../databases.ts'

/** What a successful run adds to its record. */
export type RunFacts = Pick<OperationRun, 'bytes' | 'covered_until'>

/** Where and how a run is recorded. `schema` is `create` for a command that may run before the collections exist. */
export interface RecordedCommand {
  readonly config: Config<typeof DATABASE_SETTINGS>
  readonly kind: OperationKind
  readonly output: Pick<CommandOutput, 'printProgress'>
  readonly schema?: 'create' | 'verify'
}

/** The sentence of a failure has at most as many characters. */
const FAILURE_MAX = 500

/** Opens the runs in the database of the back office. */
export async function openOperationRuns(store: Store): Promise<OperationRuns> {
  return createOperationRuns(await store.collection<OperationRun>(OPERATION_RUNS))
}

/** A run that begins now. */
export function beginRun(kind: OperationKind): OperationRun {
  return { kind, run_id: uuidv7(), release: readBuildInfo().version, began_at: now() }
}

/** The same run, ended now without a problem. */
export function succeededRun(run: OperationRun, facts: RunFacts): OperationRun {
  const ended_at = now()
  return { ...run, ended_at, succeeded_at: ended_at, ...facts }
}

/**
 * Runs a command and records in the database of the back office that it began, and how it ended. A run that cannot be recorded goes
 * on all the same, because a backup without a record is better than none; the output says so.
 */
export async function recordRun(
  command: RecordedCommand,
  work: (began_at: Date) => Promise<RunFacts>,
): Promise<void> {
  const run = beginRun(command.kind)
  await writeRun(command, run)
  try {
    const facts = await work(run.began_at)
    await writeRun(command, succeededRun(run, facts))
  } catch (error) {
    const failure = explainStartError(error).slice(0, FAILURE_MAX).toWellFormed()
    await writeRun(command, { ...run, ended_at: now(), failure })
    throw error
  }
}

/** Writes the record of a run. Prints a failure and does not throw it. */
export async function writeRun(
  { config, output, schema = 'verify' }: RecordedCommand,
  run: OperationRun,
): Promise<void> {
  try {
    const [backoffice] = await loadOperations(['backoffice'])
    if (backoffice === undefined) return
    const databases = databasesOf(config)
    // An opened store of files is created where it is missing, and a wrong MULTIHUB_HOME must stay as it was.
    if (config.mongodb_uri === undefined)
      await access(join(config.home, 'data', databases.nameOf(backoffice)))
    // Not open while the command works: a snapshot must be opened before the stores.
    const store = await databases.openStore(backoffice, schema)
    try {
      await (await openOperationRuns(store)).record(run)
    } finally {
      await store.close()
    }
  } catch (error) {
    output.printProgress(
      `this run is not recorded, so the console and the alerts do not know of it: ${explainStartError(error)}`,
    )
  }
}
