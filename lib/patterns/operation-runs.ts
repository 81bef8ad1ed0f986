import { describedSetting, optionalSetting } from '#lib/base/config/config.ts'
import { choiceSetting } from '#lib/base/config/settings.ts'
import { Conflict } from '#lib/store/errors.ts'
import type { Collection, CollectionSpec } from '#lib/store/store.ts'
import { upsert } from './update.ts'

/** Where backups of the databases are kept: on a volume, in an object store, or by means that Multihub does not see (O23). */
export const BACKUPS_SETTING = describedSetting(
  'Where backups are kept: on a volume (`claim`) or in an object store (`object`), both by `backup`; or `elsewhere`, by means of your own, for which no alert fires. `doctor` demands it in Kubernetes and with MongoDB.',
  optionalSetting(choiceSetting('MULTIHUB_BACKUPS', ['claim', 'object', 'elsewhere'])),
)

/** The commands on the databases whose runs are kept. */
export const OPERATION_KINDS = ['backup', 'restore', 'verify', 'reseal', 'migrate'] as const

/** A command on the databases whose runs are kept. */
export type OperationKind = (typeof OPERATION_KINDS)[number]

/** What `BACKUPS_SETTING` says; undefined where nobody has decided. */
export type BackupPlace = 'claim' | 'object' | 'elsewhere' | undefined

/** Whether runs of a command are expected. Of `backup` none is, where backups are made elsewhere. */
export function isExpected(kind: OperationKind, backups: BackupPlace): boolean {
  return kind !== 'backup' || backups !== 'elsewhere'
}

/** One run of a command. Without `ended_at` it still runs, or its process was killed. */
export interface OperationRun {
  readonly kind: OperationKind
  /** A UUIDv7, so that runs are stored in the order of their beginnings. */
  readonly run_id: string
  /** The version that ran the command. */
  readonly release: string
  readonly began_at: Date
  readonly ended_at?: Date | undefined
  /** Equal to `ended_at` for a run that ended without a problem; absent for all others. */
  readonly succeeded_at?: Date | undefined
  /** The size of the files of a backup. */
  readonly bytes?: bigint | undefined
  /** The newest time whose data a successful backup, restore or verify covers. */
  readonly covered_until?: Date | undefined
  /** The sentence that a failed run ended with. */
  readonly failure?: string | undefined
}

/** The runs of the commands, in the database of the back office. */
export type OperationRuns = ReturnType<typeof createOperationRuns>

/** The collection of the runs. */
export const OPERATION_RUNS = {
  name: 'operation_runs',
  partition: ['kind'],
  key: ['kind', 'run_id'],
  indexes: { by_success: { fields: ['kind', 'succeeded_at'], where: 'succeeded_at' } },
} as const satisfies CollectionSpec

/** The newest runs of each command that are kept. */
export const RUNS_KEPT_MAX = 20

/** Most runs that one `record` deletes. Each run adds one, so more are there only after an interruption. */
const DELETIONS_MAX = 100

/**
 * Keeps runs in a collection. The commands write it themselves, because they run where the back office may not, such as before the
 * first start; the back office only reads it.
 */
export function createOperationRuns(collection: Collection<OperationRun>) {
  async function lastSuccess(kind: OperationKind): Promise<OperationRun | undefined> {
    const [last] = await collection.find('by_success', { equals: [kind] }, { limit: 1, reverse: true })
    return last
  }

  async function trim(kind: OperationKind): Promise<void> {
    const limit = RUNS_KEPT_MAX + DELETIONS_MAX
    const runs = await collection.find('key', { equals: [kind] }, { limit, reverse: true })
    const success = await lastSuccess(kind)
    for (const { run_id, version } of runs.slice(RUNS_KEPT_MAX)) {
      if (run_id === success?.run_id) continue
      try {
        await collection.delete({ kind, run_id }, version)
      } catch (error) {
        // Another run of the command was faster.
        if (!(error instanceof Conflict)) throw error
      }
    }
  }

  return {
    /**
     * Stores a run when it begins, and again when it ends. Older runs of the command than the newest 20 are deleted, but never its
     * newest success.
     */
    async record(run: OperationRun): Promise<void> {
      await upsert(collection, { kind: run.kind, run_id: run.run_id }, () => run)
      await trim(run.kind)
    },
    /** The kept runs of a command, the newest first. */
    async list(kind: OperationKind): Promise<readonly OperationRun[]> {
      const newest = await collection.find('key', { equals: [kind] }, { limit: RUNS_KEPT_MAX, reverse: true })
      const success = await lastSuccess(kind)
      const is_listed = newest.some(({ run_id }) => run_id === success?.run_id)
      return success === undefined || is_listed ? newest : [...newest, success]
    },
    /** The newest run of a command that ended without a problem. */
    lastSuccess,
  }
}
